#pragma once

#include "store/s3/xml_parse.h"

namespace forebay {

/// What libforebay_xml.so gives the stores: its function forebay_xml_v1 returns it.
struct XmlLibrary {
  decltype(&parse_xml) parse;
};

}  // namespace forebay
