#include "codec/html/html_text.h"

#include <algorithm>
#include <memory>
#include <span>
#include <string_view>

#include <fmt/format.h>
#include <libxml/HTMLparser.h>
#include <libxml/parserInternals.h>

namespace forebay {

namespace {

constexpr std::string_view kOmittedElements[] = {"head",   "iframe", "noembed",  "noframes", "noscript",
                                                 "script", "style",  "template", "title"};
// These elements separate lines. Other elements, including unknown ones, do not.
constexpr std::string_view kLineBreakingElements[] = {
    "address",    "article", "aside",   "blockquote", "body",     "br",     "caption", "center", "col",
    "colgroup",   "dd",      "details", "dialog",     "dir",      "div",    "dl",      "dt",     "fieldset",
    "figcaption", "figure",  "footer",  "form",       "frameset", "h1",     "h2",      "h3",     "h4",
    "h5",         "h6",      "header",  "hgroup",     "hr",       "html",   "legend",  "li",     "listing",
    "main",       "menu",    "nav",     "ol",         "optgroup", "option", "p",       "pre",    "search",
    "section",    "summary", "table",   "tbody",      "textarea", "tfoot",  "thead",   "tr",     "ul"};

bool is_among(std::span<const std::string_view> names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}
bool preserves_whitespace(std::string_view name) { return name == "pre" || name == "textarea" || name == "listing"; }
bool is_cell(std::string_view name) { return name == "td" || name == "th"; }
bool is_whitespace(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f'; }

/// Collects text and collapses its whitespace. A separator is written only when text follows it.
class TextLines {
 public:
  explicit TextLines(std::string& text) : text_(text), begin_(text.size()) {}
  void add_space() { gap_ = gap_ == Gap::kLine ? gap_ : Gap::kSpace; }
  void end_line() { gap_ = Gap::kLine; }
  void add_collapsed(std::string_view part) {
    while (!part.empty()) {
      size_t length = 0;
      while (length < part.size() && !is_whitespace(part[length])) ++length;
      if (length > 0) add_verbatim(part.substr(0, length));
      if (length < part.size()) add_space();
      while (length < part.size() && is_whitespace(part[length])) ++length;
      part.remove_prefix(length);
    }
  }
  void add_verbatim(std::string_view part) {
    if (part.empty()) return;
    if (text_.size() > begin_ && gap_ != Gap::kNone) text_ += gap_ == Gap::kLine ? '\n' : ' ';
    gap_ = Gap::kNone;
    text_ += part;
  }

 private:
  enum class Gap : uint8_t { kNone, kSpace, kLine };
  std::string& text_;
  const size_t begin_;
  Gap gap_ = Gap::kNone;
};

struct FreeParser {
  void operator()(htmlParserCtxt* parser) const { htmlFreeParserCtxt(parser); }
};

std::string_view view(const xmlChar* text) { return reinterpret_cast<const char*>(text); }

/// Callbacks of the parser; no tree is built.
class PageReader {
 public:
  PageReader(std::string& text, htmlParserCtxt* parser) : lines_(text), parser_(parser) {}
  bool too_deep() const { return depth_ > kDeepestHtml; }

  static void start(void* self, const xmlChar* name, const xmlChar**) { of(self).start(view(name)); }
  static void end(void* self, const xmlChar* name) { of(self).end(view(name)); }
  static void characters(void* self, const xmlChar* text, int length) {
    of(self).characters({reinterpret_cast<const char*>(text), static_cast<size_t>(length)});
  }

 private:
  static PageReader& of(void* self) { return *static_cast<PageReader*>(self); }

  // At an end tag the parser searches all open elements, so a page of only tags would take
  // quadratic time. Hence the limit of the depth.
  void start(std::string_view name) {
    if (++depth_ > kDeepestHtml) return xmlStopParser(parser_);
    if (omitted_depth_ > 0 || is_among(kOmittedElements, name)) {
      ++omitted_depth_;
      return;
    }
    separate(name);
    verbatim_depth_ += preserves_whitespace(name) ? 1 : 0;
  }
  void end(std::string_view name) {
    if (too_deep()) return;  // the parser ends open elements when it stops
    depth_ -= depth_ > 0 ? 1 : 0;
    if (omitted_depth_ > 0) {
      --omitted_depth_;
      return;
    }
    verbatim_depth_ -= preserves_whitespace(name) && verbatim_depth_ > 0 ? 1 : 0;
    separate(name);
  }
  void characters(std::string_view text) {
    if (omitted_depth_ > 0) return;
    if (verbatim_depth_ > 0)
      lines_.add_verbatim(text);
    else
      lines_.add_collapsed(text);
  }
  void separate(std::string_view name) {
    if (is_cell(name))
      lines_.add_space();
    else if (is_among(kLineBreakingElements, name))
      lines_.end_line();
  }

  TextLines lines_;
  htmlParserCtxt* const parser_;
  uint32_t depth_ = 0, omitted_depth_ = 0, verbatim_depth_ = 0;
};

using Parser = std::unique_ptr<htmlParserCtxt, FreeParser>;

/// Null if there is no memory.
Parser make_parser(std::span<const uint8_t> page) {
  Parser parser(htmlCreateMemoryParserCtxt(reinterpret_cast<const char*>(page.data()), static_cast<int>(page.size())));
  if (!parser) return nullptr;
  htmlCtxtUseOptions(parser.get(), HTML_PARSE_RECOVER | HTML_PARSE_NOERROR | HTML_PARSE_NOWARNING | HTML_PARSE_NONET |
                                       HTML_PARSE_IGNORE_ENC);
  // Set before parsing, because the parser would otherwise guess the encoding.
  xmlSwitchEncoding(parser.get(), XML_CHAR_ENCODING_UTF8);
  return parser;
}

void parse_page(htmlParserCtxt& parser, PageReader& reader) {
  xmlSAXHandler& calls = *parser.sax;
  // The other callbacks are cleared, because the default ones build a tree.
  calls = {};
  calls.startElement = PageReader::start;
  calls.endElement = PageReader::end;
  calls.characters = calls.ignorableWhitespace = PageReader::characters;
  parser.userData = &reader;
  htmlParseDocument(&parser);
}

Status append_parsed(std::span<const uint8_t> page, std::string& text) {
  const size_t before = text.size();
  const Parser parser = make_parser(page);
  if (!parser) return Status(Code::kOutOfBudget, "there is no memory for a parser");
  PageReader reader(text, parser.get());
  parse_page(*parser, reader);
  if (!reader.too_deep()) return {};
  text.resize(before);
  return unsupported(fmt::format("elements are nested more than {} deep", kDeepestHtml));
}

}  // namespace

Status append_html_text(std::span<const uint8_t> page, WorkMemory& memory, std::string& text) {
  static const bool ready = (xmlInitParser(), true);  // once, before threads use it
  if (page.empty() || !ready) return {};
  if (page.size() > kMaxHtmlBytes) {
    return unsupported(
        fmt::format("the page has {} bytes, more than {}; cut it before, in .map", page.size(), kMaxHtmlBytes));
  }
  // At most: the parser's copy of the page, and a buffer that doubles while it holds an attribute's
  // value, which may be as long as the page.
  const uint64_t working = 4 * page.size() + (256 << 10);
  FOREBAY_RETURN_IF_ERROR(memory.reserve(working));
  const Status parsed = append_parsed(page, text);
  memory.release(working);
  return parsed;
}

}  // namespace forebay
