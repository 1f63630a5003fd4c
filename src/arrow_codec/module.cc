#include "arrow_codec/codecs.h"

/// The entry point that load_table_codecs() looks up. Its number changes whenever
/// base/table_codec.h does, so that a module of another build is refused instead of misread.
extern "C" __attribute__((visibility("default"))) const forebay::TableCodecs* forebay_arrow_codecs_v3() {
  return &forebay::arrow_codecs();
}
