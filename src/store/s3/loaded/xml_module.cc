#include "store/s3/loaded/xml_library.h"

extern "C" __attribute__((visibility("default"))) const forebay::XmlLibrary* forebay_xml_v2() {
  static const forebay::XmlLibrary library{&forebay::parse_xml, &forebay::xml_version};
  return &library;
}
