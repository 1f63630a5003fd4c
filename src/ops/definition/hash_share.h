#pragma once

#include <string>
#include <string_view>

#include "ops/definition/args.h"

namespace forebay {

/// A share of all values, chosen by a hash: values whose hash, as a number in [0, 1), is in
/// [begin, end). A value stays in its share whatever other values there are. Shares that do not
/// overlap have no value in common if their salt is the same.
class HashShare {
 public:
  /// The arguments `begin`, `end` and `salt` of a step, without its own ones.
  static std::vector<ArgDef> args();
  static void check(const Args& args, Problems& problems);
  /// The arguments have passed check().
  explicit HashShare(const Args& args);

  bool has(std::string_view value) const;

 private:
  double begin_ = 0, end_ = 1;
  std::string salt_;
};

/// True if a field tells groups or classes: one whole number or a text. Adds a problem if it does
/// not, or if there is no such field.
void check_groups(const std::string& name, const Schema& schema, Problems& problems);

}  // namespace forebay
