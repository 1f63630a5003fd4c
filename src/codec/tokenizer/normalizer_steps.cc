#include "codec/tokenizer/normalizer_steps.h"

#include <algorithm>

#include "base/utf8.h"
#include "codec/tokenizer/unicode_class.h"
#include "codec/tokenizer/unicode_text.h"

namespace forebay::normalizer_steps {

namespace {

bool is_ascii(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return static_cast<uint8_t>(c) < 0x80; });
}

/// Builds a new text character by character. Each comes from a position in the old text.
class Rewrite {
 public:
  explicit Rewrite(NormalizedText& text) : text_(text) { made_.text.reserve(text.text.size()); }
  /// `from` is the start of the character that this one comes from.
  void put(uint32_t code, size_t from) {
    append_utf8(code, made_.text);
    extend_first_char(from);
  }
  void put(std::string_view several, size_t from) {
    made_.text += several;
    extend_first_char(from);
  }
  void done() { text_ = std::move(made_); }

 private:
  void extend_first_char(size_t from) {
    // The output of the first character begins the text, so it ends where its last piece does.
    if (from < text_.first_char_bytes) made_.first_char_bytes = made_.text.size();
  }
  NormalizedText& text_;
  NormalizedText made_;
};

template <typename Each>
void for_each_char(const NormalizedText& text, Each each) {
  for (size_t at = 0; at < text.text.size();) {
    const Utf8Char next = char_at(text.text, at);
    each(next.code, at);
    at += next.length;
  }
}

uint32_t space_as_blank(uint32_t code) { return unicode::is_space(code) ? ' ' : code; }

/// Applies all of BertNormalizer to ASCII text, in place.
void normalize_bert_ascii(NormalizedText& text, const BertOptions& options) {
  size_t kept = 0, first = 0;
  for (size_t at = 0; at < text.text.size(); ++at) {
    char c = text.text[at];
    if (options.clean_text) {
      if (unicode::is_removed_by_bert(static_cast<uint8_t>(c))) continue;
      c = static_cast<char>(space_as_blank(static_cast<uint8_t>(c)));
    }
    if (options.lowercase && c >= 'A' && c <= 'Z') c = static_cast<char>(c + ('a' - 'A'));
    text.text[kept++] = c;
    if (at < text.first_char_bytes) first = kept;
  }
  text.text.resize(kept);
  text.first_char_bytes = first;
}

}  // namespace

void normalize_bert(NormalizedText& text, const BertOptions& options) {
  if (is_ascii(text.text)) return normalize_bert_ascii(text, options);
  if (options.clean_text || options.handle_chinese_chars) {
    Rewrite made(text);
    for_each_char(text, [&](uint32_t code, size_t at) {
      if (options.clean_text && unicode::is_removed_by_bert(code)) return;
      const bool apart = options.handle_chinese_chars && unicode::is_chinese(code);
      if (apart) made.put(' ', at);
      made.put(options.clean_text ? space_as_blank(code) : code, at);
      if (apart) made.put(' ', at);
    });
    made.done();
  }
  if (options.strip_accents) {
    normalize_unicode(text, false, false);
    Rewrite made(text);
    for_each_char(text, [&](uint32_t code, size_t at) {
      if (!unicode::is_nonspacing(code)) made.put(code, at);
    });
    made.done();
  }
  if (options.lowercase) lowercase(text);
}

void lowercase(NormalizedText& text) {
  Rewrite made(text);
  for_each_char(text, [&](uint32_t code, size_t at) {
    const unicode::LowerCase lower = unicode::lower(code);
    made.put(lower.first, at);
    if (lower.second != 0) made.put(lower.second, at);
  });
  made.done();
}

void strip_accents(NormalizedText& text) {
  if (is_ascii(text.text)) return;
  Rewrite made(text);
  for_each_char(text, [&](uint32_t code, size_t at) {
    if (!unicode::is_combining(code)) made.put(code, at);
  });
  made.done();
}

void strip(NormalizedText& text, bool left, bool right) {
  size_t begin = text.text.size(), end = 0;
  for_each_char(text, [&](uint32_t code, size_t at) {
    if (unicode::is_space(code)) return;
    begin = std::min(begin, at);
    end = at + char_at(text.text, at).length;
  });
  if (!left) begin = 0;
  if (!right) end = text.text.size();
  end = std::max(begin, end);
  text.text = text.text.substr(begin, end - begin);
  text.first_char_bytes = std::min(text.first_char_bytes - std::min(begin, text.first_char_bytes), text.text.size());
}

void normalize_unicode(NormalizedText& text, bool compatible, bool composed) {
  if (is_ascii(text.text)) return;
  std::vector<uint32_t> codes;
  codes.reserve(text.text.size());
  size_t first_codes = 0;  // marks that move across the end of the first character are not tracked
  for_each_char(text, [&](uint32_t code, size_t at) {
    unicode::decompose(code, compatible, codes);
    if (at < text.first_char_bytes) first_codes = codes.size();
  });
  unicode::order_marks(codes);
  if (composed) {
    unicode::compose(codes);
    first_codes = std::min<size_t>(first_codes, 1);
  }
  NormalizedText made;
  made.text.reserve(text.text.size());
  for (size_t i = 0; i < codes.size(); ++i) {
    append_utf8(codes[i], made.text);
    if (i < first_codes) made.first_char_bytes = made.text.size();
  }
  text = std::move(made);
}

void normalize_nmt(NormalizedText& text) {
  Rewrite made(text);
  for_each_char(text, [&](uint32_t code, size_t at) {
    const bool dropped = (code >= 0x1 && code <= 0x8) || code == 0xb || (code >= 0xe && code <= 0x1f) || code == 0x7f ||
                         code == 0x8f || code == 0x9f;
    if (dropped) return;
    const bool blank = code == 0x9 || code == 0xa || code == 0xc || code == 0xd || code == 0x1680 ||
                       (code >= 0x200b && code <= 0x200f) || code == 0x2028 || code == 0x2029 || code == 0x2581 ||
                       code == 0xfeff || code == 0xfffd;
    made.put(blank ? ' ' : code, at);
  });
  made.done();
}

namespace {

/// Applies the replacements of the table. The package counts characters on both sides of a
/// replacement. So if the table drops characters at the beginning, the result of a later character
/// counts as that of the first one.
class TableRewrite {
 public:
  explicit TableRewrite(NormalizedText& text) : text_(text), made_(text) {}

  void put(std::string_view old_part, std::string_view new_part) {
    if (at_ >= text_.first_char_bytes) return made_.put(new_part, at_);
    if (new_part.empty() && empty_) return;
    size_t old_left = count(old_part);
    for (size_t i = 0; i < new_part.size(); i += char_at(new_part, i).length) {
      if (old_left > 0) {
        last_ = at_;
        step();
        --old_left;
      }
      made_.put(new_part.substr(i, char_at(new_part, i).length), last_);
      empty_ = false;
    }
    for (; old_left > 0; --old_left) step();
  }
  void done() { made_.done(); }

 private:
  static size_t count(std::string_view part) {
    return static_cast<size_t>(
        std::ranges::count_if(part, [](char c) { return (static_cast<uint8_t>(c) & 0xc0) != 0x80; }));
  }
  void step() { at_ += at_ < text_.text.size() ? char_at(text_.text, at_).length : 0; }

  NormalizedText& text_;
  Rewrite made_;
  size_t at_ = 0;    ///< in the old text: the next character that an output is assigned to
  size_t last_ = 0;  ///< in the old text: the character that the last output was assigned to
  bool empty_ = true;
};

}  // namespace

void apply_charsmap(NormalizedText& text, const Charsmap& map) {
  // The package looks up a short grapheme as a whole, and applies the entry of its beginning to all
  // of it.
  constexpr size_t kShort = 6;
  TableRewrite made(text);
  for (size_t at = 0; at < text.text.size();) {
    const size_t end = unicode::grapheme_end(text.text, at);
    const std::string_view whole = std::string_view(text.text).substr(at, end - at);
    if (whole.size() < kShort) {
      if (const auto found = map.replacement_of(whole)) {
        made.put(whole, *found);
        at = end;
        continue;
      }
    }
    while (at < end) {
      const std::string_view one = std::string_view(text.text).substr(at, char_at(text.text, at).length);
      const auto found = map.replacement_of(one);
      made.put(one, found ? *found : one);
      at += one.size();
    }
  }
  made.done();
}

void prepend(NormalizedText& text, const std::string& prefix) {
  if (text.text.empty()) return;
  text.text.insert(0, prefix);
  if (text.first_char_bytes > 0) text.first_char_bytes += prefix.size();
}

namespace {

/// `match(at)` returns the end of the match at `at`, or `at` if there is none.
template <typename Match>
void replace_matches(NormalizedText& text, const std::string& replacement, Match match) {
  Rewrite made(text);
  for (size_t at = 0; at < text.text.size();) {
    const size_t end = match(at);
    if (end > at) {
      // The inserted text counts as the result of the last removed character.
      size_t last = end - 1;
      while (last > at && (static_cast<uint8_t>(text.text[last]) & 0xc0) == 0x80) --last;
      if (!replacement.empty()) made.put(replacement, last);
      at = end;
    } else {
      const std::string_view one = std::string_view(text.text).substr(at, char_at(text.text, at).length);
      made.put(one, at);
      at += one.size();
    }
  }
  made.done();
}

}  // namespace

void replace(NormalizedText& text, const std::string& pattern, const std::string& replacement) {
  if (text.text.find(pattern) == std::string::npos) return;
  replace_matches(text, replacement, [&](size_t at) {
    return text.text.compare(at, pattern.size(), pattern) == 0 ? at + pattern.size() : at;
  });
}

void replace_runs(NormalizedText& text, const std::string& pattern, size_t min_count, const std::string& replacement) {
  replace_matches(text, replacement, [&](size_t at) {
    size_t end = at, count = 0;
    for (; text.text.compare(end, pattern.size(), pattern) == 0; ++count) end += pattern.size();
    return count >= min_count ? end : at;
  });
}

}  // namespace forebay::normalizer_steps
