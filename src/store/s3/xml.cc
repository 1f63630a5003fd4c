#include "store/s3/xml.h"

#include <libxml/parser.h>

#include <limits>
#include <memory>
#include <utility>

#include <fmt/format.h>

namespace forebay {

/// libxml2's callbacks. They record events until the first defect.
struct XmlHandler {
  XmlReader& reader;
  xmlParserCtxtPtr parser = nullptr;
  size_t depth = 0;

  static XmlHandler& of(void* self) { return *static_cast<XmlHandler*>(self); }

  void add(XmlEvent::Kind kind, std::string_view text) {
    if (reader.end_.ok()) reader.events_.push_back({kind, std::string(text)});
  }

  void refuse(std::string_view found) {
    if (reader.end_.ok()) reader.end_ = corrupt(fmt::format("expected the XML of an S3 answer, found {}", found));
    xmlStopParser(parser);
  }

  // Servers choose their namespace prefixes, and S3's answers mix no vocabularies, so the local
  // name suffices. An undeclared prefix stays in the name that libxml2 gives.
  static std::string_view local(const xmlChar* name) {
    const std::string_view full(reinterpret_cast<const char*>(name));
    return full.substr(full.rfind(':') + 1);
  }

  static void begin(void* self, const xmlChar* name, const xmlChar*, const xmlChar*, int, const xmlChar**, int, int,
                    const xmlChar**) {
    XmlHandler& handler = of(self);
    if (++handler.depth > XmlReader::kMaxDepth)
      return handler.refuse(fmt::format("more than {} levels", XmlReader::kMaxDepth));
    handler.add(XmlEvent::Kind::kBegin, local(name));
  }

  static void end(void* self, const xmlChar* name, const xmlChar*, const xmlChar*) {
    --of(self).depth;
    of(self).add(XmlEvent::Kind::kEnd, local(name));
  }

  // libxml2 delivers text, entities and CDATA in pieces; a name must be complete.
  static void text(void* self, const xmlChar* text, int length) {
    XmlHandler& handler = of(self);
    std::vector<XmlEvent>& events = handler.reader.events_;
    const std::string_view piece(reinterpret_cast<const char*>(text), static_cast<size_t>(length));
    const bool goes_on = !events.empty() && events.back().kind == XmlEvent::Kind::kText && handler.reader.end_.ok();
    goes_on ? void(events.back().text += piece) : handler.add(XmlEvent::Kind::kText, piece);
  }

  static void document_type(void* self, const xmlChar*, const xmlChar*, const xmlChar*) {
    of(self).refuse("a document type");
  }
};

namespace {

xmlSAXHandler callbacks() {
  xmlSAXHandler sax{};
  sax.initialized = XML_SAX2_MAGIC;
  sax.startElementNs = XmlHandler::begin;
  sax.endElementNs = XmlHandler::end;
  sax.characters = XmlHandler::text;
  sax.cdataBlock = XmlHandler::text;
  sax.internalSubset = XmlHandler::document_type;
  return sax;
}

std::string_view first_line(const char* message) {
  const std::string_view text = message == nullptr ? "no XML" : message;
  return text.substr(0, text.find('\n'));
}

}  // namespace

XmlReader::XmlReader(std::string_view document) {
  xmlSAXHandler sax = callbacks();
  XmlHandler handler{*this};
  const std::unique_ptr<xmlParserCtxt, decltype(&xmlFreeParserCtxt)> parser(
      xmlCreatePushParserCtxt(&sax, &handler, nullptr, 0, nullptr), &xmlFreeParserCtxt);
  if (!parser || document.size() > std::numeric_limits<int>::max()) {
    end_ = corrupt("expected the XML of an S3 answer, found more than can be parsed");
    return;
  }
  handler.parser = parser.get();
  xmlCtxtUseOptions(parser.get(), XML_PARSE_NONET | XML_PARSE_NOERROR | XML_PARSE_NOWARNING);
  xmlParseChunk(parser.get(), document.data(), static_cast<int>(document.size()), 1);
  if (parser->wellFormed == 0) handler.refuse(first_line(parser->lastError.message));
}

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
