// Footers and record batches of Arrow files: any bytes give columns or a status.
#include "arrow_codec/codecs.h"
#include "table_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  forebay::read_table(forebay::arrow_codecs().arrow_file(), {reinterpret_cast<const char*>(data), size});
  return 0;
}
