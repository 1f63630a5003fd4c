#include "loader/cache_place.h"

namespace forebay {

Hash128 place_identity(const Description& description, size_t step) {
  Hasher hasher;
  for (size_t i = 1; i < step; ++i) {
    const OpSpec& op = description.steps()[i];
    if (op.name == "shuffle" || op.name == "take" || op.name == "filter" || op.name == "cache") continue;
    hasher.update(op.name + op.args.dump() + op.attachment_name + ";");
  }
  return hasher.digest();
}

}  // namespace forebay
