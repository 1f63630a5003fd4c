#include "store/s3/xml_parse.h"

#include <libxml/parser.h>

#include <cstdlib>
#include <limits>
#include <memory>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace forebay {

namespace {

/// libxml2's callbacks. They record events until the first defect.
struct XmlHandler {
  std::vector<XmlEvent>& events;
  xmlParserCtxtPtr parser = nullptr;
  size_t depth = 0;
  Status defect = {};

  static XmlHandler& of(void* self) { return *static_cast<XmlHandler*>(self); }

  void add(XmlEvent::Kind kind, std::string_view text) {
    if (defect.ok()) events.push_back({kind, std::string(text)});
  }

  void refuse(std::string_view found) {
    if (defect.ok()) defect = corrupt(fmt::format("expected the XML of an S3 answer, found {}", found));
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
    std::vector<XmlEvent>& events = handler.events;
    const std::string_view piece(reinterpret_cast<const char*>(text), static_cast<size_t>(length));
    const bool goes_on = !events.empty() && events.back().kind == XmlEvent::Kind::kText && handler.defect.ok();
    goes_on ? void(events.back().text += piece) : handler.add(XmlEvent::Kind::kText, piece);
  }

  static void document_type(void* self, const xmlChar*, const xmlChar*, const xmlChar*) {
    of(self).refuse("a document type");
  }
};

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

Status parse_xml(std::string_view document, std::vector<XmlEvent>& events) {
  xmlSAXHandler sax = callbacks();
  XmlHandler handler{.events = events};
  const std::unique_ptr<xmlParserCtxt, decltype(&xmlFreeParserCtxt)> parser(
      xmlCreatePushParserCtxt(&sax, &handler, nullptr, 0, nullptr), &xmlFreeParserCtxt);
  if (!parser || document.size() > std::numeric_limits<int>::max())
    return corrupt("expected the XML of an S3 answer, found more than can be parsed");
  handler.parser = parser.get();
  xmlCtxtUseOptions(parser.get(), XML_PARSE_NONET | XML_PARSE_NOERROR | XML_PARSE_NOWARNING);
  xmlParseChunk(parser.get(), document.data(), static_cast<int>(document.size()), 1);
  if (parser->wellFormed == 0) handler.refuse(first_line(parser->lastError.message));
  return std::move(handler.defect);
}

Result<std::string> xml_version() {
  const auto number = std::strtoul(xmlParserVersion, nullptr, 10);  // 20914 is 2.9.14
  return fmt::format("libxml2 {}.{}.{}", number / 10000, number / 100 % 100, number % 100);
}

}  // namespace forebay
