#include "codec/tokenizer/file_parts.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace forebay::tokenizer_file {

using nlohmann::json;

Status other_kind(const std::string& part) {
  return unsupported(
      fmt::format("the tokenizer {}; of tokenizers, the byte-level BPE, WordPiece and Unigram kinds are built in: call "
                  "others in .map, with the package tokenizers",
                  part));
}

Status no_tokenizer(const std::string& what) {
  return corrupt(fmt::format("{}; is it a tokenizer.json that `tokenizers` saved?", what));
}

const json& member(const json& of, const char* name) {
  // For references to what is not there: null, and never changed.
  static const json none;
  const auto found = of.is_object() ? of.find(name) : of.end();
  return of.is_object() && found != of.end() ? *found : none;
}

std::string text_of(const json& value) { return value.is_string() ? value.get<std::string>() : ""; }

std::string type_of(const json& part) { return text_of(member(part, "type")); }

bool says(const json& part, const char* name, bool otherwise) {
  const json& value = member(part, name);
  return value.is_boolean() ? value.get<bool>() : otherwise;
}

Result<int32_t> id_of(const json& value) {
  if (!value.is_number_integer() || value < 0 || value > INT32_MAX)
    return no_tokenizer("an id is no number of 31 bits");
  return value.get<int32_t>();
}

namespace {

Status put(std::vector<int32_t>& ids, const json& pair) {
  if (!pair.is_array() || pair.size() != 2) return no_tokenizer("its post_processor is none");
  FOREBAY_ASSIGN(const int32_t id, id_of(pair[1]));
  ids.push_back(id);
  return {};
}

Status read_template(const json& around, std::vector<int32_t>& before, std::vector<int32_t>& behind) {
  bool after = false;
  for (const json& piece : member(around, "single")) {
    if (!member(piece, "Sequence").is_null()) {
      if (after) return other_kind("gives each text twice");
      after = true;
      continue;
    }
    const std::string name = text_of(member(member(piece, "SpecialToken"), "id"));
    const json& ids = member(member(member(around, "special_tokens"), name.c_str()), "ids");
    if (!ids.is_array()) return no_tokenizer("its post_processor names a token that it does not have");
    for (const json& each : ids) {
      FOREBAY_ASSIGN(const int32_t id, id_of(each));
      (after ? behind : before).push_back(id);
    }
  }
  return after ? Status() : other_kind("gives no text");
}

}  // namespace

Status read_around(const json& around, std::vector<int32_t>& before, std::vector<int32_t>& behind) {
  const std::string type = type_of(around);
  if (around.is_null() || type == "ByteLevel") return {};
  if (type == "TemplateProcessing") return read_template(around, before, behind);
  if (type == "RobertaProcessing" || type == "BertProcessing") {
    FOREBAY_RETURN_IF_ERROR(put(before, member(around, "cls")));
    return put(behind, member(around, "sep"));
  }
  if (type != "Sequence") return other_kind(fmt::format("ends with {}", type));
  // Processors in one another would go as deep as the file says.
  bool any = false;
  for (const json& each : member(around, "processors")) {
    if (type_of(each) == "Sequence") return other_kind("ends with a Sequence in a Sequence");
    const size_t were = before.size() + behind.size();
    FOREBAY_RETURN_IF_ERROR(read_around(each, before, behind));
    if (before.size() + behind.size() == were) continue;
    if (any) return other_kind("puts ids around each text twice");
    any = true;
  }
  return {};
}

Status refuse_lengths(const json& file) {
  for (const char* part : {"truncation", "padding"}) {
    if (!member(file, part).is_null()) return other_kind(fmt::format("has a {}", part));
  }
  return {};
}

}  // namespace forebay::tokenizer_file
