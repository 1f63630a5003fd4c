#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "pipeline/operator.h"

namespace forebay {

/// The operators that exist, by name. Made by whoever composes an engine; nothing registers itself.
class Catalog {
 public:
  explicit Catalog(std::vector<OpDef> ops);
  const OpDef* find(std::string_view name) const;
  /// False, too, for what is not among the operators: a source, or a name from a stranger's file.
  bool has_role(const OpSpec& op, OpRole role) const;
  /// Likewise.
  bool has_effect(const OpSpec& op, OpEffect effect) const;
  const std::map<std::string, OpDef, std::less<>>& ops() const { return ops_; }
  /// The known name nearest to a mistyped one; empty when none is near.
  std::string nearest(std::string_view name) const;

 private:
  std::map<std::string, OpDef, std::less<>> ops_;
};

/// Schemas between the steps of a pipeline, and everything that is wrong with it.
struct Inference {
  /// schemas[i] is what leaves step i.
  std::vector<Schema> schemas;
  std::vector<Problem> problems;
};

enum class Rules : uint8_t {
  kAll,
  kFields,  ///< not those on which steps may stand beside which: for a part of a description that was found right
};

/// Follows the schema through the operators. Goes on after a problem, so that all are found at once.
Inference infer(const Description& description, const Schema& source, const Catalog& catalog,
                Rules rules = Rules::kAll);

}  // namespace forebay
