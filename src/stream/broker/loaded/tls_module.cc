#include "stream/broker/loaded/tls_library.h"

extern "C" __attribute__((visibility("default"))) const forebay::TlsLibrary* forebay_tls_v1() {
  static const forebay::TlsLibrary library{&forebay::check_tls_options};
  return &library;
}
