#include "store/http/loaded/http_library.h"

extern "C" __attribute__((visibility("default"))) const forebay::HttpLibrary* forebay_http_v2() {
  static const forebay::HttpLibrary library{&forebay::curl_transport, &forebay::sha256, &forebay::md5,
                                            &forebay::http_versions};
  return &library;
}
