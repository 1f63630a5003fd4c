#pragma once

#include "store/s3/xml_parse.h"

namespace forebay {

/// The functions that libforebay_xml.so gives the stores: its function forebay_xml_v2 returns it.
struct XmlLibrary {
  decltype(&parse_xml) parse;
  decltype(&xml_version) version;
};

}  // namespace forebay
