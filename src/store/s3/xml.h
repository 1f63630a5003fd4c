#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "forebay/result.h"

namespace forebay {

/// One step through an XML document.
struct XmlEvent {
  enum class Kind : uint8_t { kBegin, kText, kEnd, kDone };
  Kind kind = Kind::kDone;
  std::string text;  ///< kBegin, kEnd: the name without its namespace prefix; kText: the text, entities replaced
};

/// The XML of an S3 answer as a list of events; libxml2 parses it. Refused beyond what libxml2 refuses: document types, so no
/// entities of the document's own, and more than kMaxDepth levels. Attributes and comments are skipped. The events in front of
/// a defect are given, then Corrupt. Memory is linear in the document. Used by one thread.
class XmlReader {
 public:
  static constexpr size_t kMaxDepth = 16;

  explicit XmlReader(std::string_view document);

  /// The next event; kDone for ever after the root's end. Corrupt where the document is no XML.
  Result<XmlEvent> next();
  /// The text up to the end of the element that just began, which must hold no other elements.
  Result<std::string> text_of_element();
  /// Skips the element that just began, with its content.
  Status skip_element();

 private:
  friend struct XmlHandler;

  std::vector<XmlEvent> events_;
  size_t at_ = 0;
  Status end_;  ///< what follows the last event: kDone, or the defect
};

}  // namespace forebay
