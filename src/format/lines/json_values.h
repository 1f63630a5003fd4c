#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace forebay {

/// Finds where JSON values begin and end, character by character, looking only at strings and
/// brackets. Values follow one another, separated by blanks or commas. The elements of a top-level
/// list are reported as well. One thread.
class JsonValues {
 public:
  enum class Event : uint8_t { kNone, kBegin, kEnd, kBeginElement, kEndElement };
  struct Events {
    Event before = Event::kNone;  ///< a number or word that ended before the character
    Event here = Event::kNone;    ///< a value that begins with the character, or ends after it
  };

  /// Takes the next character. A character outside of ASCII may be passed as any value from 0x80
  /// on.
  Events take(uint32_t c);
  /// Ends the text, which may end a number or word.
  Event finish();
  /// True if no value is open and every closing bracket had an opening one.
  bool balanced() const { return depth_ == 0 && !in_string_ && !broken_; }

 private:
  Event begun() const;
  Event ended() const;
  Event end_word();
  Event close();
  void take_in_string(uint32_t c);

  size_t depth_ = 0;
  bool list_ = false;  ///< the outermost value is a list
  bool in_string_ = false, escaped_ = false, in_word_ = false, broken_ = false;
};

/// True if `text` consists of values that are all closed.
bool is_balanced_json(std::string_view text);

}  // namespace forebay
