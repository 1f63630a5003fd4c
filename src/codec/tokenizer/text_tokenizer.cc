#include "codec/tokenizer/text_tokenizer.h"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/sniff.h"
#include "codec/tokenizer/bpe_tokenizer.h"
#include "codec/tokenizer/file_parts.h"
#include "codec/tokenizer/piece_tokenizer.h"

namespace forebay {

namespace {

/// Files from before version 0.10 do not name the model.
std::string model_of(const nlohmann::json& file) {
  using namespace tokenizer_file;
  const nlohmann::json& model = member(file, "model");
  if (!type_of(model).empty()) return type_of(model);
  if (!member(model, "max_input_chars_per_word").is_null()) return "WordPiece";
  return member(model, "vocab").is_array() ? "Unigram" : "BPE";
}

/// True if a pre-tokenizer replaces characters by bytes.
bool has_byte_level(const nlohmann::json& part) {
  using namespace tokenizer_file;
  if (type_of(part) == "ByteLevel") return true;
  const nlohmann::json& parts = member(part, "pretokenizers");
  return parts.is_array() &&
         std::ranges::any_of(parts, [](const nlohmann::json& one) { return type_of(one) == "ByteLevel"; });
}

}  // namespace

Status TextTokenizer::encode(std::string_view text, const EncodeOptions& options, std::vector<int32_t>& ids) const {
  if (options.special) ids.insert(ids.end(), prefix_ids_.begin(), prefix_ids_.end());
  const size_t begin = ids.size();
  if (Status problem = encode_text(text, ids); !problem.ok()) {
    // Restores the old contents, because the caller may replace the sample.
    ids.resize(begin - (options.special ? prefix_ids_.size() : 0));
    return problem;
  }
  const size_t most = options.most - (options.special ? special_id_count() : 0);
  if (ids.size() - begin > most) ids.resize(begin + most);
  if (options.special) ids.insert(ids.end(), suffix_ids_.begin(), suffix_ids_.end());
  return {};
}

Result<std::shared_ptr<const TextTokenizer>> TextTokenizer::parse(std::span<const uint8_t> text) {
  using namespace tokenizer_file;
  const nlohmann::json file = parse_file(text);
  if (!file.is_object()) {
    if (sniff(text, text.size()).kind != FileKind::kJson) return wrong_file("a tokenizer.json", text, text.size());
    return malformed_tokenizer(file.is_discarded() ? "it is no JSON" : "it is no JSON object");
  }
  // `truncation` and `padding` are ignored, because they are settings of the last program that
  // saved the file. Here `max_length` and `.pad` decide.
  const std::string model = model_of(file);
  if (model == "BPE" && has_byte_level(member(file, "pre_tokenizer"))) return read_bpe_tokenizer(file);
  if (model == "WordPiece" || model == "Unigram" || model == "BPE") return read_piece_tokenizer(file, model);
  return member(file, "model").is_object() ? unsupported_tokenizer(fmt::format("is a {} model", model))
                                           : malformed_tokenizer("it has no model");
}

}  // namespace forebay
