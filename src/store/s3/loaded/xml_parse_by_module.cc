#include <atomic>

#include "base/shared_module.h"
#include "store/s3/loaded/xml_library.h"

// In libforebay.so, in place of xml_parse.cc.

namespace forebay {

namespace {

Result<const XmlLibrary*> xml_module() {
  static std::atomic<const XmlLibrary*> loaded = nullptr;
  static const SharedModule module{.file = "libforebay_xml.so",
                                   .function = "forebay_xml_v2",
                                   .needed =
                                       "answers of S3 need the module libforebay_xml.so, which needs libxml2: "
                                       "install libxml2-dev, then build Forebay again if the module is missing"};
  return interface_of_module(loaded, module);
}

}  // namespace

Status parse_xml(std::string_view document, std::vector<XmlEvent>& events) {
  FOREBAY_ASSIGN(const XmlLibrary* const library, xml_module());
  return library->parse(document, events);
}

Result<std::string> xml_version() {
  FOREBAY_ASSIGN(const XmlLibrary* const library, xml_module());
  return library->version();
}

}  // namespace forebay
