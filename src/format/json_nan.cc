#include "format/json_nan.h"

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>

#include <fmt/format.h>

namespace forebay {

namespace {

struct NanWord {
  std::string_view word;  ///< as Python writes it
  std::string_view
      /// A JSON number that no program writes: too many zeros for any float, and a zero exponent.
      number;
  double value;
};

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// The longer word comes first, because "Infinity" is a part of "-Infinity".
constexpr NanWord kNanWords[] = {
    {"-Infinity", "0.000000000000000000000000000002e-31337", -kInfinity},
    {"Infinity", "0.000000000000000000000000000001e-31337", kInfinity},
    {"NaN", "0.000000000000000000000000000000e-31337", std::numeric_limits<double>::quiet_NaN()},
};

const NanWord* word_at(std::string_view json, size_t at) {
  const auto* const found =
      std::ranges::find_if(kNanWords, [&](const NanWord& one) { return json.substr(at).starts_with(one.word); });
  return found == std::end(kNanWords) ? nullptr : found;
}

/// End of the string that begins at `at`.
size_t string_end(std::string_view json, size_t at) {
  for (++at; at < json.size() && json[at] != '"'; ++at) {
    if (json[at] == '\\') ++at;
  }
  return std::min(at + 1, json.size());
}

/// The next of the words at or after `at`, and its position.
std::pair<const NanWord*, size_t> next_word(std::string_view json, size_t at) {
  while (at < json.size()) {
    const char c = json[at];
    if (c == '"') {
      at = string_end(json, at);
      continue;
    }
    if (c == 'N' || c == 'I' || c == '-') {
      if (const NanWord* const found = word_at(json, at); found != nullptr) return {found, at};
    }
    ++at;
  }
  return {nullptr, json.size()};
}

}  // namespace

std::optional<NanPolicy> nan_policy(std::string_view word) {
  if (word == "error") return NanPolicy::kError;
  if (word == "keep") return NanPolicy::kKeep;
  if (word == "null") return NanPolicy::kNull;
  return std::nullopt;
}

std::optional<size_t> find_nan(std::string_view json) {
  const auto [word, at] = next_word(json, 0);
  return word == nullptr ? std::nullopt : std::optional(at);
}

std::string nan_problem(std::string_view json) {
  const auto [word, at] = next_word(json, 0);
  if (word == nullptr) return {};
  return fmt::format("'{}' at character {} is no JSON; nan=\"keep\" reads it as a float, nan=\"null\" as null",
                     word->word, at + 1);
}

std::optional<std::string> with_nan_replaced(std::string_view json, NanPolicy policy) {
  if (policy == NanPolicy::kError) return std::nullopt;
  auto [word, at] = next_word(json, 0);
  if (word == nullptr) return std::nullopt;
  std::string text;
  size_t from = 0;
  while (word != nullptr) {
    text.append(json.substr(from, at - from)).append(policy == NanPolicy::kNull ? "null" : word->number);
    from = at + word->word.size();
    std::tie(word, at) = next_word(json, from);
  }
  return text.append(json.substr(from));
}

std::optional<double> kept_nan(std::string_view written) {
  const auto* const found = std::ranges::find(kNanWords, written, &NanWord::number);
  return found == std::end(kNanWords) ? std::nullopt : std::optional(found->value);
}

}  // namespace forebay
