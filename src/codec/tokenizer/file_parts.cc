#include "codec/tokenizer/file_parts.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <limits>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "codec/json_tree.h"

namespace forebay::tokenizer_file {

using nlohmann::json;

Status unsupported_tokenizer(const std::string& part) {
  return unsupported(
      fmt::format("the tokenizer {}; of tokenizers, the BPE, WordPiece and Unigram kinds are built in: call "
                  "others in .map, with the package tokenizers",
                  part));
}

Status malformed_tokenizer(const std::string& what) {
  return corrupt(fmt::format("{}; is it a tokenizer.json that `tokenizers` saved?", what));
}

const json& member(const json& of, const char* name) {
  // The target of references to absent members: null, and never changed.
  static const json none;
  const auto found = of.is_object() ? of.find(name) : of.end();
  return of.is_object() && found != of.end() ? *found : none;
}

std::string text_of(const json& value) { return value.is_string() ? value.get<std::string>() : ""; }

std::string type_of(const json& part) { return text_of(member(part, "type")); }

bool bool_member(const json& part, const char* name, bool otherwise) {
  const json& value = member(part, name);
  return value.is_boolean() ? value.get<bool>() : otherwise;
}

Result<int32_t> id_of(const json& value) {
  if (!value.is_number_integer() || value < 0 || value > INT32_MAX)
    return malformed_tokenizer("an id is no number of 31 bits");
  return value.get<int32_t>();
}

namespace {

Status put(std::vector<int32_t>& ids, const json& pair) {
  if (!pair.is_array() || pair.size() != 2) return malformed_tokenizer("its post_processor is malformed");
  FOREBAY_ASSIGN(const int32_t id, id_of(pair[1]));
  ids.push_back(id);
  return {};
}

Status read_template(const json& processor, std::vector<int32_t>& prefix_ids, std::vector<int32_t>& suffix_ids) {
  bool after = false;
  for (const json& piece : member(processor, "single")) {
    if (!member(piece, "Sequence").is_null()) {
      if (after) return unsupported_tokenizer("gives each text twice");
      after = true;
      continue;
    }
    const std::string name = text_of(member(member(piece, "SpecialToken"), "id"));
    const json& ids = member(member(member(processor, "special_tokens"), name.c_str()), "ids");
    if (!ids.is_array()) return malformed_tokenizer("its post_processor names a token that it does not have");
    for (const json& each : ids) {
      FOREBAY_ASSIGN(const int32_t id, id_of(each));
      (after ? suffix_ids : prefix_ids).push_back(id);
    }
  }
  return after ? Status() : unsupported_tokenizer("gives no text");
}

}  // namespace

Status read_special_ids(const json& processor, std::vector<int32_t>& prefix_ids, std::vector<int32_t>& suffix_ids) {
  const std::string type = type_of(processor);
  if (processor.is_null() || type == "ByteLevel") return {};
  if (type == "TemplateProcessing") return read_template(processor, prefix_ids, suffix_ids);
  if (type == "RobertaProcessing" || type == "BertProcessing") {
    FOREBAY_RETURN_IF_ERROR(put(prefix_ids, member(processor, "cls")));
    return put(suffix_ids, member(processor, "sep"));
  }
  if (type != "Sequence") return unsupported_tokenizer(fmt::format("ends with {}", type));
  // A nested sequence is refused, because it could recurse as deep as the file says.
  bool any = false;
  for (const json& each : member(processor, "processors")) {
    if (type_of(each) == "Sequence") return unsupported_tokenizer("ends with a Sequence in a Sequence");
    const size_t were = prefix_ids.size() + suffix_ids.size();
    FOREBAY_RETURN_IF_ERROR(read_special_ids(each, prefix_ids, suffix_ids));
    if (prefix_ids.size() + suffix_ids.size() == were) continue;
    if (any) return unsupported_tokenizer("puts ids around each text twice");
    any = true;
  }
  return {};
}

namespace {

class FileTree final : public JsonTree {
 public:
  Json convert_number(double, const std::string& text) override { return parse_float(text); }
};

/// The integer of the first digits, and the power of ten to multiply it by.
struct Decimal {
  uint64_t digits = 0;
  int64_t exponent = 0;

  /// Returns false if the digit does not fit. It and all later digits are then ignored.
  bool take(char digit) {
    const auto value = static_cast<uint64_t>(digit - '0');
    if (digits > (UINT64_MAX - value) / 10) return false;
    digits = digits * 10 + value;
    return true;
  }
};

Decimal parse_decimal(std::string_view written) {
  Decimal number;
  size_t at = written.starts_with('-') ? 1 : 0;
  const auto is_digit = [&] { return at < written.size() && written[at] >= '0' && written[at] <= '9'; };
  bool room = true;
  for (; is_digit(); ++at) {
    room = room && number.take(written[at]);
    if (!room) ++number.exponent;
  }
  if (at < written.size() && written[at] == '.') {
    for (++at; is_digit(); ++at) {
      room = room && number.take(written[at]);
      if (room) --number.exponent;
    }
  }
  if (at >= written.size()) return number;
  const bool negative = written.substr(at + 1).starts_with('-');
  int64_t exponent = 0;
  // After `e` and its sign; limited to more than any double needs.
  for (at += written.find_first_of("+-", at) == at + 1 ? 2 : 1; is_digit(); ++at)
    exponent = std::min<int64_t>(exponent * 10 + (written[at] - '0'), 1'000'000);
  number.exponent += negative ? -exponent : exponent;
  return number;
}

/// 10^0 to 10^308, each as the nearest double.
double power_of_ten(int64_t exponent) {
  static const std::array<double, 309> kPowers = [] {
    std::array<double, 309> powers{};
    for (size_t i = 0; i < powers.size(); ++i) powers[i] = std::strtod(fmt::format("1e{}", i).c_str(), nullptr);
    return powers;
  }();
  return kPowers[static_cast<size_t>(exponent)];
}

}  // namespace

double parse_float(std::string_view written) {
  Decimal number = parse_decimal(written);
  auto value = static_cast<double>(number.digits);
  constexpr int64_t kMost = 308;
  while (number.exponent < -kMost && value != 0) {
    value /= power_of_ten(kMost);
    number.exponent += kMost;
  }
  if (number.exponent > kMost && value != 0) value = std::numeric_limits<double>::infinity();
  if (value != 0 && std::isfinite(value))
    value = number.exponent < 0 ? value / power_of_ten(-number.exponent) : value * power_of_ten(number.exponent);
  return written.starts_with('-') ? -value : value;
}

json parse_file(std::span<const uint8_t> text) {
  FileTree tree;
  if (!json::sax_parse(text.begin(), text.end(), &tree)) return json(json::value_t::discarded);
  return std::move(tree.root);
}

}  // namespace forebay::tokenizer_file
