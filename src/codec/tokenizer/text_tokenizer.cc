#include "codec/tokenizer/text_tokenizer.h"

#include <nlohmann/json.hpp>

#include "codec/tokenizer/bpe_tokenizer.h"
#include "codec/tokenizer/file_parts.h"
#include "codec/tokenizer/piece_tokenizer.h"

namespace forebay {

namespace {

/// Files of before version 0.10 do not name the model.
std::string model_of(const nlohmann::json& file) {
  using namespace tokenizer_file;
  const nlohmann::json& model = member(file, "model");
  if (!type_of(model).empty()) return type_of(model);
  if (!member(model, "max_input_chars_per_word").is_null()) return "WordPiece";
  return member(model, "vocab").is_array() ? "Unigram" : "BPE";
}

}  // namespace

Status TextTokenizer::encode(std::string_view text, const Encoding& how, std::vector<int32_t>& ids) const {
  if (how.special) ids.insert(ids.end(), before_.begin(), before_.end());
  const size_t begin = ids.size();
  if (Status problem = encode_text(text, ids); !problem.ok()) {
    // As it was before: the caller may replace the sample.
    ids.resize(begin - (how.special ? before_.size() : 0));
    return problem;
  }
  const size_t most = how.most - (how.special ? special_ids() : 0);
  if (ids.size() - begin > most) ids.resize(begin + most);
  if (how.special) ids.insert(ids.end(), behind_.begin(), behind_.end());
  return {};
}

Result<std::shared_ptr<const TextTokenizer>> TextTokenizer::parse(std::span<const uint8_t> text) {
  using namespace tokenizer_file;
  const nlohmann::json file = nlohmann::json::parse(text.begin(), text.end(), nullptr, false);
  if (file.is_discarded()) return no_tokenizer("it is no JSON");
  if (!file.is_object()) return no_tokenizer("it is no JSON object");
  FOREBAY_RETURN_IF_ERROR(refuse_lengths(file));
  const std::string model = model_of(file);
  if (model == "WordPiece" || model == "Unigram") return read_piece_tokenizer(file, model);
  return read_bpe_tokenizer(file);
}

}  // namespace forebay
