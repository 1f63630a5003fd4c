#include "codec/html/loaded/html_library.h"

extern "C" __attribute__((visibility("default"))) const forebay::HtmlLibrary* forebay_html_v1() {
  static const forebay::HtmlLibrary library{&forebay::append_html_text};
  return &library;
}
