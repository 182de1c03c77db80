#include <assert.h>
#include <turbojpeg.h>

#include "data/image/codecs.h"

static enum tn_status refuse(tjhandle handle, struct error *error)
{
    return error_set(error, TN_ECORRUPT, "the JPEG image is damaged: %s", tjGetErrorStr2(handle));
}

static enum tn_status read_shape(tjhandle handle, const uint8_t *bytes, size_t size,
                                 struct image_shape *out, struct error *error)
{
    /* A stream without an image is valid for the library, which then sets nothing. */
    int width = 0, height = 0, sampling = 0, colours = TJCS_RGB;
    if (tjDecompressHeader3(handle, bytes, size, &width, &height, &sampling, &colours) != 0) {
        return refuse(handle, error);
    }
    if (colours == TJCS_CMYK || colours == TJCS_YCCK) {
        return error_set(error, TN_EINVAL, "a CMYK image is not read: convert it to RGB");
    }
    if (width < 1 || height < 1) {
        return error_set(error, TN_ECORRUPT, "the JPEG image is damaged: it is cut off");
    }
    return image_check((uint64_t)height, (uint64_t)width, colours == TJCS_GRAY ? 1 : 3, out, error);
}

enum tn_status jpeg_shape(const uint8_t *bytes, size_t size, struct image_shape *out,
                          struct error *error)
{
    tjhandle handle = tjInitDecompress();
    if (handle == NULL) { return error_set(error, TN_ENOMEM, "out of memory for an image"); }
    enum tn_status status = read_shape(handle, bytes, size, out, error);
    (void)tjDestroy(handle);
    return status;
}

enum tn_status jpeg_decode(const uint8_t *bytes, size_t size, struct image_shape shape,
                           uint8_t *pixels, struct error *error)
{
    assert(pixels != NULL);
    tjhandle handle = tjInitDecompress();
    if (handle == NULL) { return error_set(error, TN_ENOMEM, "out of memory for an image"); }
    /* A warning is damage: the decoder would invent pixels. Scans are limited because each costs
     * time but hardly a byte. */
    const int flags = TJFLAG_ACCURATEDCT | TJFLAG_STOPONWARNING | TJFLAG_LIMITSCANS;
    const int format = shape.channels == 1 ? TJPF_GRAY : TJPF_RGB;
    enum tn_status status = TN_OK;
    if (tjDecompress2(handle, bytes, size, pixels, (int)shape.width, 0, (int)shape.height, format,
                      flags) != 0) {
        status = refuse(handle, error);
    }
    (void)tjDestroy(handle);
    return status;
}
