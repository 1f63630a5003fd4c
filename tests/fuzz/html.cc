// Pages that somebody else wrote: any UTF-8 has a text or is refused. The text is UTF-8, the same each time, and not longer than references can make
// it; with too little memory there is none.
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/utf8.h"
#include "codec/html/html_text.h"

using namespace forebay;

static void require(bool holds) {
  if (!holds) std::abort();
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::span<const uint8_t> page(data, size);
  if (!is_utf8(page)) return 0;  // whoever calls has looked
  WorkMemory memory;
  std::string text = "before";
  const Status status = append_html_text(page, memory, text);
  require(text.starts_with("before") && memory.reserved() == 0);
  if (!status.ok()) {
    require(status.code() == Code::kUnsupported && text == "before");
    return 0;
  }
  require(is_utf8({reinterpret_cast<const uint8_t*>(text.data()), text.size()}));
  // The shortest reference to a character is shorter than the character: "&lt" is one byte, "&#9" too, and none becomes more than four.
  require(text.size() <= 6 + 4 * size);
  std::string again = "before";
  require(append_html_text(page, memory, again).ok() && again == text);
  WorkMemory little(1000);
  std::string none;
  const Status refused = append_html_text(page, little, none);
  require(refused.ok() ? none == text.substr(6) : none.empty() && refused.code() == Code::kOutOfBudget);
  return 0;
}
