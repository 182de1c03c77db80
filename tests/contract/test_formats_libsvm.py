#!/usr/bin/env python3
"""Files that scikit-learn wrote in libsvm's format have its values (tried with scikit-learn 1.9.1)."""

import unittest

from formats import Formats, skip

try:
    import numpy
    import scipy.sparse
    from sklearn.datasets import dump_svmlight_file, load_svmlight_file
except ImportError as error:
    skip(error, "scikit-learn")


class Libsvm(Formats):
    def test_rows_have_their_values(self):
        path = self.folder / "a.svm"
        features = scipy.sparse.random(200, 30, density=0.2, format="csr", random_state=1)
        labels = numpy.random.default_rng(1).integers(-2, 3, 200)
        for zero_based in False, True:
            dump_svmlight_file(features, labels, str(path), zero_based=zero_based, comment="written by a test")
            columns, rows = self.read("libsvm", path, zero_based=zero_based, features=30)
            self.assertEqual(columns, [["label", "number"], ["features", "floats", 30]])
            read, expected_labels = load_svmlight_file(str(path), n_features=30, zero_based=zero_based)
            numpy.testing.assert_array_equal([row[0] for row in rows], expected_labels)
            numpy.testing.assert_array_equal([row[1] for row in rows], read.toarray().astype(numpy.float32))

    def test_errors_have_a_remedy(self):
        path = self.folder / "a.svm"
        dump_svmlight_file(numpy.ones((3, 2)), numpy.arange(3), str(path))
        self.refused("libsvm", path, 'a.svm:1: index 0: indices begin with 1, unless data.options has "zero_based": true')
        dump_svmlight_file(numpy.ones((3, 2)), numpy.ones((3, 2)), str(path), zero_based=False, multilabel=True)
        self.refused("libsvm", path, "a.svm:1: '0,1' is not a label")


if __name__ == "__main__":
    unittest.main()
