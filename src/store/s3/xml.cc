#include "store/s3/xml.h"

#include <utility>

#include "store/s3/xml_parse.h"

namespace forebay {

XmlReader::XmlReader(std::string_view document) : end_(parse_xml(document, events_)) {}

Result<XmlEvent> XmlReader::next() {
  if (at_ < events_.size()) return std::move(events_[at_++]);
  if (!end_.ok()) return end_;
  return XmlEvent{};
}

Result<std::string> XmlReader::text_of_element() {
  std::string all;
  while (true) {
    FOREBAY_ASSIGN(XmlEvent event, next());
    if (event.kind == XmlEvent::Kind::kEnd) return all;
    if (event.kind != XmlEvent::Kind::kText) return corrupt("expected a text in an S3 answer, found an element");
    all += event.text;
  }
}

Status XmlReader::skip_element() {
  for (size_t depth = 1; depth > 0;) {
    FOREBAY_ASSIGN(const XmlEvent event, next());
    if (event.kind == XmlEvent::Kind::kBegin) ++depth;
    if (event.kind == XmlEvent::Kind::kEnd) --depth;
    if (event.kind == XmlEvent::Kind::kDone) return corrupt("expected the end of an element, found the end of the XML");
  }
  return {};
}

}  // namespace forebay
