#pragma once

#include <string_view>
#include <vector>

#include "forebay/status.h"
#include "store/s3/xml.h"

namespace forebay {

/// Parses a document by libxml2 as XmlReader says. Appends its events up to the first defect, and
/// returns that defect.
Status parse_xml(std::string_view document, std::vector<XmlEvent>& events);

}  // namespace forebay
