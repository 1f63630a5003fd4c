#include "codec/html/html_text.h"

#include <string_view>

#include <fmt/format.h>
#include <gumbo.h>

#include "codec/html/tree_memory.h"

namespace forebay {

namespace {

bool is_left_out(GumboTag tag) {
  switch (tag) {
    case GUMBO_TAG_HEAD:
    case GUMBO_TAG_SCRIPT:
    case GUMBO_TAG_STYLE:
    case GUMBO_TAG_TEMPLATE:
    case GUMBO_TAG_NOSCRIPT:
    case GUMBO_TAG_NOEMBED:
    case GUMBO_TAG_NOFRAMES:
    case GUMBO_TAG_IFRAME: return true;
    default: return false;
  }
}

bool is_inline(GumboTag tag) {
  switch (tag) {
    case GUMBO_TAG_A:
    case GUMBO_TAG_ABBR:
    case GUMBO_TAG_ACRONYM:
    case GUMBO_TAG_B:
    case GUMBO_TAG_BDI:
    case GUMBO_TAG_BDO:
    case GUMBO_TAG_BIG:
    case GUMBO_TAG_BUTTON:
    case GUMBO_TAG_CITE:
    case GUMBO_TAG_CODE:
    case GUMBO_TAG_DATA:
    case GUMBO_TAG_DEL:
    case GUMBO_TAG_DFN:
    case GUMBO_TAG_EM:
    case GUMBO_TAG_FONT:
    case GUMBO_TAG_I:
    case GUMBO_TAG_IMG:
    case GUMBO_TAG_INPUT:
    case GUMBO_TAG_INS:
    case GUMBO_TAG_KBD:
    case GUMBO_TAG_LABEL:
    case GUMBO_TAG_MARK:
    case GUMBO_TAG_METER:
    case GUMBO_TAG_NOBR:
    case GUMBO_TAG_OUTPUT:
    case GUMBO_TAG_PROGRESS:
    case GUMBO_TAG_Q:
    case GUMBO_TAG_RP:
    case GUMBO_TAG_RT:
    case GUMBO_TAG_RUBY:
    case GUMBO_TAG_S:
    case GUMBO_TAG_SAMP:
    case GUMBO_TAG_SMALL:
    case GUMBO_TAG_SPAN:
    case GUMBO_TAG_STRIKE:
    case GUMBO_TAG_STRONG:
    case GUMBO_TAG_SUB:
    case GUMBO_TAG_SUP:
    case GUMBO_TAG_TIME:
    case GUMBO_TAG_TT:
    case GUMBO_TAG_U:
    case GUMBO_TAG_VAR:
    case GUMBO_TAG_WBR:
    case GUMBO_TAG_UNKNOWN: return true;
    default: return false;
  }
}

bool keeps_blanks(GumboTag tag) {
  return tag == GUMBO_TAG_PRE || tag == GUMBO_TAG_TEXTAREA || tag == GUMBO_TAG_LISTING;
}
bool is_cell(GumboTag tag) { return tag == GUMBO_TAG_TD || tag == GUMBO_TAG_TH; }
bool is_blank_char(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f'; }

/// Text with its blanks put right. What separates is written when something follows it.
class TextLines {
 public:
  explicit TextLines(std::string& text) : text_(text), begin_(text.size()) {}
  void blank() { gap_ = gap_ == Gap::kLine ? gap_ : Gap::kBlank; }
  void end_line() { gap_ = Gap::kLine; }
  void add(std::string_view part) {
    while (!part.empty()) {
      size_t length = 0;
      while (length < part.size() && !is_blank_char(part[length])) ++length;
      if (length > 0) append(part.substr(0, length));
      if (length < part.size()) blank();
      while (length < part.size() && is_blank_char(part[length])) ++length;
      part.remove_prefix(length);
    }
  }
  void add_as_it_is(std::string_view part) {
    if (!part.empty()) append(part);
  }

 private:
  enum class Gap : uint8_t { kNone, kBlank, kLine };
  void append(std::string_view part) {
    if (text_.size() > begin_ && gap_ != Gap::kNone) text_ += gap_ == Gap::kLine ? '\n' : ' ';
    gap_ = Gap::kNone;
    text_ += part;
  }
  std::string& text_;
  const size_t begin_;
  Gap gap_ = Gap::kNone;
};

/// Goes through a tree in the order of the page, up and down by the nodes' own pointers: no stack, however deep it is.
class TreeWalk {
 public:
  TreeWalk(const GumboNode* root, TextLines& lines) : root_(root), lines_(lines) {}

  void run() {
    const GumboNode* node = root_;
    while (node != nullptr) {
      const GumboVector* const children = enter(node) ? children_of(node) : nullptr;
      if (children != nullptr && children->length > 0) {
        node = static_cast<const GumboNode*>(children->data[0]);
      } else {
        leave(node);
        node = behind(node);
      }
    }
  }

 private:
  static bool is_element(const GumboNode* node) {
    return node->type == GUMBO_NODE_ELEMENT || node->type == GUMBO_NODE_TEMPLATE;
  }
  static const GumboVector* children_of(const GumboNode* node) {
    if (node->type == GUMBO_NODE_DOCUMENT) return &node->v.document.children;
    return is_element(node) ? &node->v.element.children : nullptr;
  }

  /// The next node that is not below this one; what is left on the way is told.
  const GumboNode* behind(const GumboNode* node) {
    while (node != root_) {
      const GumboNode* const parent = node->parent;
      const GumboVector* const siblings = children_of(parent);
      const size_t next = node->index_within_parent + 1;
      if (next < siblings->length) return static_cast<const GumboNode*>(siblings->data[next]);
      leave(parent);
      node = parent;
    }
    return nullptr;
  }

  /// Whether what is below it counts.
  bool enter(const GumboNode* node) {
    if (node->type == GUMBO_NODE_TEXT || node->type == GUMBO_NODE_WHITESPACE || node->type == GUMBO_NODE_CDATA) {
      const std::string_view text = node->v.text.text;
      if (as_it_is_ > 0)
        lines_.add_as_it_is(text);
      else
        lines_.add(text);
      return false;
    }
    if (!is_element(node)) return node->type == GUMBO_NODE_DOCUMENT;
    const GumboTag tag = node->v.element.tag;
    if (is_left_out(tag)) return false;
    separate(tag);
    as_it_is_ += keeps_blanks(tag) ? 1 : 0;
    return true;
  }
  void leave(const GumboNode* node) {
    if (!is_element(node) || is_left_out(node->v.element.tag)) return;
    as_it_is_ -= keeps_blanks(node->v.element.tag) ? 1 : 0;
    separate(node->v.element.tag);
  }
  void separate(GumboTag tag) {
    if (is_cell(tag))
      lines_.blank();
    else if (!is_inline(tag))
      lines_.end_line();
  }

  const GumboNode* const root_;
  TextLines& lines_;
  int as_it_is_ = 0;
};

void* allocate_node(void* memory, size_t size) { return static_cast<TreeMemory*>(memory)->allocate(size); }
void free_nothing(void*, void*) {}

// In a function of its own: nothing here has a destructor that longjmp() would pass over.
const GumboOutput* parse(const GumboOptions& options, TreeMemory& memory, const char* page, size_t size) {
  if (setjmp(memory.escape) != 0) return nullptr;
  return gumbo_parse_with_options(&options, page, size);
}

}  // namespace

Status append_html_text(std::span<const uint8_t> page, WorkMemory& memory, std::string& text) {
  if (page.size() > kMostHtmlBytes) {
    return unsupported(
        fmt::format("the page has {} bytes, more than {}; cut it before, in .map", page.size(), kMostHtmlBytes));
  }
  TreeMemory tree(memory, kDeepestHtml);
  GumboOptions options = kGumboDefaultOptions;
  options.allocator = allocate_node;
  options.deallocator = free_nothing;
  options.userdata = &tree;
  options.max_errors = 0;
  const GumboOutput* const output = parse(options, tree, reinterpret_cast<const char*>(page.data()), page.size());
  if (output == nullptr) return tree.status();
  TextLines lines(text);
  TreeWalk(output->document, lines).run();
  return {};
}

}  // namespace forebay
