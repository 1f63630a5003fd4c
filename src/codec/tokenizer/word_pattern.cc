#include "codec/tokenizer/word_pattern.h"

#include "codec/tokenizer/unicode_class.h"

namespace forebay {

namespace {

constexpr uint32_t kLongS = 0x17f;  // "ſ", which equals s if case is ignored

/// Matches the pattern at one position of a text.
class WordMatch {
 public:
  WordMatch(std::string_view text, size_t at) : text_(text), at_(at) {}

  // Both functions return the end of the word. They try the alternatives in the pattern's order,
  // because the first that matches wins, not the longest.
  size_t gpt2() const {
    // 's|'t|'re|'ve|'m|'ll|'d
    if (const size_t length = contraction(false)) return at_ + length;
    // ` ?\p{L}+`, ` ?\p{N}+` and ` ?[^\s\p{L}\p{N}]+`: a run of one class after at most one blank.
    const size_t after_blank = char_at(text_, at_).code == ' ' ? at_ + 1 : at_;
    if (after_blank < text_.size()) {
      const CharClass wanted = class_at(after_blank);
      if (wanted != CharClass::kSpace) return run(after_blank, wanted);
    }
    // \s+(?!\S)|\s+
    return spaces();
  }

  // `max_digits` is the limit of the alternative \p{N}{1,max_digits}.
  size_t cl100k(size_t max_digits) const {
    // (?i:'s|'t|'re|'ve|'m|'ll|'d)
    if (const size_t length = contraction(true)) return at_ + length;
    const Utf8Char first = char_at(text_, at_);
    const CharClass first_class = class_at(at_);
    const size_t second = at_ + first.length;
    // [^\r\n\p{L}\p{N}]?\p{L}+: letters, after at most one character of another kind.
    if (first_class == CharClass::kLetter) return run(at_, CharClass::kLetter);
    const bool line_end = first.code == '\r' || first.code == '\n';
    if (first_class != CharClass::kNumber && !line_end && second < text_.size() &&
        class_at(second) == CharClass::kLetter)
      return run(second, CharClass::kLetter);
    // \p{N}{1,max_digits}
    if (first_class == CharClass::kNumber) return numbers(max_digits);
    // ` ?[^\s\p{L}\p{N}]+[\r\n]*`
    const size_t after_blank = first.code == ' ' ? second : at_;
    if (after_blank < text_.size() && class_at(after_blank) == CharClass::kOther)
      return line_ends(run(after_blank, CharClass::kOther));
    // \s*[\r\n]+|\s+(?!\S)|\s+
    return spaces_to_line_end();
  }

 private:
  CharClass class_at(size_t at) const { return char_class(char_at(text_, at).code); }

  // End of the run of characters of that class.
  size_t run(size_t at, CharClass wanted) const {
    while (at < text_.size()) {
      const Utf8Char next = char_at(text_, at);
      if (char_class(next.code) != wanted) break;
      at += next.length;
    }
    return at;
  }

  size_t numbers(size_t most) const {
    size_t at = at_;
    for (size_t count = 0; count < most && at < text_.size() && class_at(at) == CharClass::kNumber; ++count)
      at += char_at(text_, at).length;
    return at;
  }

  size_t line_ends(size_t at) const {
    while (at < text_.size() && (text_[at] == '\r' || text_[at] == '\n')) ++at;
    return at;
  }

  // \s+(?!\S)|\s+: blanks before a word leave the last one to it, unless there is only one.
  size_t spaces() const {
    size_t at = at_, last = at_;
    while (at < text_.size()) {
      const Utf8Char next = char_at(text_, at);
      if (char_class(next.code) != CharClass::kSpace) break;
      last = at;
      at += next.length;
    }
    return at == text_.size() || last == at_ ? at : last;
  }

  // \s*[\r\n]+: ends at the last line end in the run of blanks. Without one, spaces() matches.
  size_t spaces_to_line_end() const {
    const size_t end = run(at_, CharClass::kSpace);
    for (size_t at = end; at > at_; --at) {
      if (text_[at - 1] == '\r' || text_[at - 1] == '\n') return at;
    }
    return spaces();
  }

  // Length of a contraction: 's, 't, 'm, 'd, 're, 've, 'll.
  size_t contraction(bool any_case) const {
    if (text_[at_] != '\'' || at_ + 1 >= text_.size()) return 0;
    // The apostrophe, and the two bytes of U+017F.
    if (any_case && char_at(text_, at_ + 1).code == kLongS) return 3;
    const auto letter = [&](size_t i) {
      const char c = at_ + i < text_.size() ? text_[at_ + i] : '\0';
      return any_case && c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    };
    const char first = letter(1), second = letter(2);
    if (first == 's' || first == 't' || first == 'm' || first == 'd') return 2;
    const bool pair = ((first == 'r' || first == 'v') && second == 'e') || (first == 'l' && second == 'l');
    return pair ? 3 : 0;
  }

  const std::string_view text_;
  const size_t at_;
};

}  // namespace

size_t word_end(WordPattern pattern, std::string_view text, size_t at) {
  const WordMatch match(text, at);
  switch (pattern) {
    case WordPattern::kGpt2: return match.gpt2();
    case WordPattern::kCl100k: return match.cl100k(3);
    case WordPattern::kCl100kSingleDigits: return match.cl100k(1);
    case WordPattern::kNone: break;
  }
  return text.size();
}

}  // namespace forebay
