#include "codec/tokenizer/bpe_model.h"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "codec/tokenizer/bpe_vocabulary.h"
#include "codec/tokenizer/file_parts.h"
#include "codec/tokenizer/unicode_class.h"

namespace forebay {

Result<std::unique_ptr<PieceModel>> BpeModel::read(const nlohmann::json& model) {
  using namespace tokenizer_file;
  FOREBAY_ASSIGN(BpeVocabulary vocabulary, BpeVocabulary::read(model));
  auto made = std::make_unique<BpeModel>();
  size_t bytes = 0;
  for (const auto& [text, id] : vocabulary.ids) {
    if (bytes += text.size(); bytes > ByteTrie::kMostBytes)
      return unsupported_tokenizer("has a vocab of more than 64 MiB");
    if (!text.empty()) made->pieces_.add(text, id);
  }
  made->merges_ = std::move(vocabulary.merges);
  made->prefix_ = vocabulary.prefix;
  made->suffix_ = vocabulary.suffix;
  made->unknown_id_ = vocabulary.unknown;
  made->fuses_unknown_ = bool_member(model, "fuse_unk", false);
  made->ignores_merges_ = bool_member(model, "ignore_merges", false);
  if (bool_member(model, "byte_fallback", false)) {
    for (int byte = 0; byte < 256; ++byte)
      made->byte_ids_.push_back(made->pieces_.find(fmt::format("<0x{:02X}>", byte)));
  }
  return std::unique_ptr<PieceModel>(std::move(made));
}

int32_t BpeModel::find(std::string_view character, bool first, bool last) const {
  const bool prefixed = !first && !prefix_.empty(), suffixed = last && !suffix_.empty();
  if (!prefixed && !suffixed) return pieces_.find(character);
  return pieces_.find((prefixed ? prefix_ : "") + std::string(character) + (suffixed ? suffix_ : ""));
}

bool BpeModel::put_bytes(std::string_view character, std::vector<int32_t>& tokens) const {
  const auto known = [&](char byte) { return byte_ids_[static_cast<uint8_t>(byte)] != ByteTrie::kNone; };
  if (byte_ids_.empty() || !std::ranges::all_of(character, known)) return false;
  for (const char byte : character) tokens.push_back(byte_ids_[static_cast<uint8_t>(byte)]);
  return true;
}

void BpeModel::encode(std::string_view word, std::vector<int32_t>& ids) const {
  if (ignores_merges_) {
    if (const int32_t whole = pieces_.find(word); whole != ByteTrie::kNone) return ids.push_back(whole);
  }
  std::vector<int32_t> tokens;
  bool unknown = false;  // an unknown token is pending, and is added before the next token
  const auto put_unknown = [&] {
    if (std::exchange(unknown, false)) tokens.push_back(*unknown_id_);
  };
  for (size_t at = 0; at < word.size();) {
    const size_t end = at + char_at(word, at).length;
    const std::string_view character = word.substr(at, end - at);
    if (const int32_t id = find(character, at == 0, end == word.size()); id != ByteTrie::kNone) {
      put_unknown();
      tokens.push_back(id);
    } else if (!put_bytes(character, tokens) && unknown_id_) {
      if (!fuses_unknown_) put_unknown();
      unknown = true;
    }
    at = end;
  }
  put_unknown();
  merge_tokens(merges_, tokens);
  ids.insert(ids.end(), tokens.begin(), tokens.end());
}

}  // namespace forebay
