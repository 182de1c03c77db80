#!/bin/bash
# Runs a test under MemorySanitizer, or skips it (exit status 77) when it calls a library that is not
# instrumented: memory that such a library writes looks uninitialised.
if nm -D --undefined-only "$1" | grep -qE ' (json_|gz|inflate|zoo_|nng_|nftw|dlopen)'; then
  echo "skipped: $(basename "$1") calls a library that is not built with MemorySanitizer"
  exit 77
fi
exec "$@"
