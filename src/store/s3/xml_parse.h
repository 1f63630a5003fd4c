#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "forebay/result.h"
#include "store/s3/xml.h"

namespace forebay {

/// Parses a document by libxml2 as XmlReader says. Appends its events up to the first defect, and
/// returns that defect.
Status parse_xml(std::string_view document, std::vector<XmlEvent>& events);

/// The library that parses, such as "libxml2 2.9.14". Unsupported, with a remedy, if the module with
/// it cannot be loaded.
Result<std::string> xml_version();

}  // namespace forebay
