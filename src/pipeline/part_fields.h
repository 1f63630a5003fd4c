#pragma once

#include <cstddef>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/schema.h"
#include "pipeline/json_fwd.h"

namespace forebay {

/// Name of a part's field among the fields of all parts of a zip: "mask/image". Steps of a part
/// (OpSpec::part) know it as "image". Without a part the name stays as it is.
std::string name_in_zip(const std::string& part, const std::string& field);
/// The inverse. Nothing if the field belongs to another part.
std::optional<std::string> name_in_part(const std::string& part, std::string_view field);
/// The same for a list of names, or for an object of old and new names. Those of other parts are
/// left out.
Json names_in_part(const std::string& part, const Json& names);

/// The fields of one part among those of all parts of a zip. They are taken out before a step of
/// that part, which knows no others, and put back after it.
class PartFields {
 public:
  PartFields(const Schema& all, std::string part);
  /// The part's fields, as its steps know them.
  const Schema& own() const { return own_; }
  /// The fields of all parts if the part's are `own` now.
  Schema with(const Schema& own) const;

  /// Moves the part's values out of those of all fields. The others stay, in their order.
  template <typename T>
  std::vector<T> take(std::vector<T>& all) const {
    std::vector<T> own;
    size_t kept = 0;
    for (size_t i = 0, next = 0; i < all.size(); ++i) {
      if (next < indices_.size() && indices_[next] == i) {
        own.push_back(std::move(all[i]));
        ++next;
      } else {
        if (kept != i) all[kept] = std::move(all[i]);
        ++kept;
      }
    }
    all.resize(kept);
    return own;
  }
  /// Puts the part's values back, where the first of them was.
  template <typename T>
  void put(std::vector<T>& all, std::vector<T> own) const {
    all.insert(all.begin() + static_cast<std::ptrdiff_t>(first_), std::make_move_iterator(own.begin()),
               std::make_move_iterator(own.end()));
  }

 private:
  const std::string part_;
  const Schema all_;
  std::vector<size_t> indices_;  // of the part's fields
  size_t first_ = 0;             // the first of them, or behind all fields
  Schema own_;
};

}  // namespace forebay
