#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace forebay {

/// Finds where JSON values begin and end, character by character, by strings and brackets alone. Values stand beside one another, with
/// blanks or commas between them; those of a list are told as well, one level below. One thread.
class JsonValues {
 public:
  enum class Event : uint8_t { kNone, kBegin, kEnd, kBeginElement, kEndElement };
  struct Events {
    Event before = Event::kNone;  ///< a number or word ended before the character
    Event here = Event::kNone;    ///< a value begins with it, or ends behind it
  };

  /// The next character; one outside of ASCII may be given as any from 0x80 on.
  Events take(uint32_t c);
  /// The end of the text, where a number or word may end.
  Event finish();
  /// Nothing is open, and nothing was closed that was not.
  bool balanced() const { return depth_ == 0 && !in_string_ && !broken_; }

 private:
  Event begun() const;
  Event ended() const;
  Event end_word();
  Event close();
  void take_in_string(uint32_t c);

  size_t depth_ = 0;
  bool list_ = false;  ///< the value around everything is a list
  bool in_string_ = false, escaped_ = false, in_word_ = false, broken_ = false;
};

/// Whether `text` is values that are all closed.
bool is_balanced_json(std::string_view text);

}  // namespace forebay
