#include <atomic>

#include "base/shared_module.h"
#include "codec/html/loaded/html_library.h"

// In libforebay.so, in place of html_text.cc.

namespace forebay {

Status append_html_text(std::span<const uint8_t> page, WorkMemory& memory, std::string& text) {
  static std::atomic<const HtmlLibrary*> loaded = nullptr;
  static const SharedModule module{.file = "libforebay_xml.so",
                                   .function = "forebay_html_v1",
                                   .needed =
                                       "the text of HTML needs the module libforebay_xml.so, which needs libxml2: "
                                       "install libxml2-dev, then build Forebay again if the module is missing"};
  FOREBAY_ASSIGN(const HtmlLibrary* const library, interface_of_module(loaded, module));
  return library->append(page, memory, text);
}

}  // namespace forebay
