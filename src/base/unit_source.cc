#include "base/unit_source.h"

#include <algorithm>

namespace forebay {

int64_t UnitSource::fewest_rows() const {
  int64_t fewest = size();
  for (int64_t unit = 0; unit < units(); ++unit) fewest = std::min(fewest, unit_begin(unit + 1) - unit_begin(unit));
  return fewest;
}

std::optional<Identity> UnitSource::identity(int64_t id) const {
  // unit_begin(unit) <= id < unit_begin(end) throughout.
  int64_t unit = 0, end = units();
  while (unit + 1 < end) {
    const int64_t middle = unit + (end - unit) / 2;
    (unit_begin(middle) <= id ? unit : end) = middle;
  }
  const std::optional<Hash128> of_unit = unit_identity(unit);
  if (!of_unit) return std::nullopt;
  Hasher hasher;
  hasher.update_value(of_unit->high);
  hasher.update_value(of_unit->low);
  hasher.update_value(id - unit_begin(unit));
  return hasher.digest();
}

}  // namespace forebay
