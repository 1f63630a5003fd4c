#include "codec/tokenizer/piece_tokenizer.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "codec/tokenizer/bpe_model.h"
#include "codec/tokenizer/file_parts.h"
#include "codec/tokenizer/unicode_class.h"
#include "codec/tokenizer/unigram_model.h"
#include "codec/tokenizer/wordpiece_model.h"

namespace forebay {

Status PieceTokenizer::encode_text(std::string_view text, std::vector<int32_t>& ids) const {
  Status problem;
  raw_added_.split(
      text,
      [&](size_t begin, size_t end) {
        if (problem.ok()) problem = encode_segment(text.substr(begin, end - begin), begin == 0, ids);
      },
      [&](int32_t id) { ids.push_back(id); });
  return problem;
}

Status PieceTokenizer::encode_segment(std::string_view text, bool is_first, std::vector<int32_t>& ids) const {
  NormalizedText normal{std::string(text), is_first ? char_at(text, 0).length : 0};
  FOREBAY_RETURN_IF_ERROR(normalizer_.apply(normal));
  normalized_added_.split(
      normal.text,
      [&](size_t begin, size_t end) {
        // How much of this part came from the input's first character; 0 if the part is after it.
        const size_t first = std::clamp(normal.first_char_bytes, begin, end) - begin;
        for (const NormalizedText& word : pre_tokenizer_.split({normal.text.substr(begin, end - begin), first}))
          model_->encode(word.text, ids);
      },
      [&](int32_t id) { ids.push_back(id); });
  return {};
}

uint64_t PieceTokenizer::working_bytes(uint64_t text_bytes) const {
  // The text as given and normalized, its codes, and its words. Most texts keep about the same
  // length in all forms.
  constexpr uint64_t kCopies = 8;
  return text_bytes * (kCopies + model_->working_bytes_per_byte());
}

Result<std::shared_ptr<const TextTokenizer>> read_piece_tokenizer(const nlohmann::json& file, const std::string& kind) {
  using namespace tokenizer_file;
  std::shared_ptr<PieceTokenizer> made(new PieceTokenizer());
  const auto& model = member(file, "model");
  FOREBAY_ASSIGN(made->model_, kind == "WordPiece" ? WordPieceModel::read(model)
                               : kind == "BPE"     ? BpeModel::read(model)
                                                   : UnigramModel::read(model));
  FOREBAY_ASSIGN(made->normalizer_, Normalizer::parse(member(file, "normalizer")));
  FOREBAY_ASSIGN(made->pre_tokenizer_, PreTokenizer::parse(member(file, "pre_tokenizer")));
  FOREBAY_ASSIGN(std::vector<AddedToken> added, read_added_tokens(member(file, "added_tokens")));
  for (AddedToken& token : added) {
    if (token.normalized) {
      NormalizedText text{token.text};
      FOREBAY_RETURN_IF_ERROR(made->normalizer_.apply(text));
      token.text = std::move(text.text);
    }
    (token.normalized ? made->normalized_added_ : made->raw_added_).add(std::move(token));
  }
  FOREBAY_RETURN_IF_ERROR(read_special_ids(member(file, "post_processor"), made->prefix_ids_, made->suffix_ids_));
  return std::shared_ptr<const TextTokenizer>(std::move(made));
}

}  // namespace forebay
