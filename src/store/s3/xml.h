#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "forebay/result.h"

namespace forebay {

/// One event of an XML document.
struct XmlEvent {
  enum class Kind : uint8_t { kBegin, kText, kEnd, kDone };
  Kind kind = Kind::kDone;
  /// For kBegin and kEnd the name without its namespace prefix; for kText the text, with entities
  /// replaced.
  std::string text;
};

/// Reads the XML of an S3 answer as a list of events; libxml2 parses it. In addition to what
/// libxml2 refuses, it refuses document types, and so entities of the document's own, and more than
/// kMaxDepth levels. Attributes and comments are skipped. If the document is malformed, the events
/// before the defect are returned first, and then Corrupt. Memory is linear in the document. Used
/// by one thread.
class XmlReader {
 public:
  static constexpr size_t kMaxDepth = 16;

  explicit XmlReader(std::string_view document);

  /// Returns the next event; kDone after the root's end. Corrupt if the document is malformed.
  Result<XmlEvent> next();
  /// Returns the text up to the end of the element that just began, which must have no child
  /// elements.
  Result<std::string> text_of_element();
  /// Skips the element that just began, with its content.
  Status skip_element();

 private:
  std::vector<XmlEvent> events_;
  size_t at_ = 0;
  Status end_;  ///< after the last event: OK for kDone, or the defect
};

}  // namespace forebay
