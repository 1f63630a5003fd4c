#include <atomic>

#include "base/shared_module.h"
#include "store/s3/loaded/xml_library.h"

// In libforebay.so, in place of xml_parse.cc.

namespace forebay {

Status parse_xml(std::string_view document, std::vector<XmlEvent>& events) {
  static std::atomic<const XmlLibrary*> loaded = nullptr;
  static const SharedModule module{.file = "libforebay_xml.so",
                                   .function = "forebay_xml_v1",
                                   .needed =
                                       "answers of S3 need the module libforebay_xml.so, which needs libxml2: "
                                       "install libxml2, or Forebay again if the module is missing"};
  FOREBAY_ASSIGN(const XmlLibrary* const library, interface_of_module(loaded, module));
  return library->parse(document, events);
}

}  // namespace forebay
