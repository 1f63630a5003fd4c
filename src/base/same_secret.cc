#include "base/same_secret.h"

#include <algorithm>

namespace forebay {

bool same_secret(std::string_view a, std::string_view b) {
  // Accumulates differences without a branch on any of them.
  const size_t length = std::max(a.size(), b.size());
  unsigned differs = a.size() == b.size() ? 0 : 1;
  for (size_t i = 0; i < length; ++i) {
    const auto left = static_cast<unsigned char>(i < a.size() ? a[i] : 0);
    const auto right = static_cast<unsigned char>(i < b.size() ? b[i] : 0);
    differs |= static_cast<unsigned>(left ^ right);
  }
  return differs == 0;
}

}  // namespace forebay
