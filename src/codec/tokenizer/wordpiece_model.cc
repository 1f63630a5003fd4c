#include "codec/tokenizer/wordpiece_model.h"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "codec/tokenizer/file_parts.h"

namespace forebay {

Result<std::unique_ptr<PieceModel>> WordPieceModel::read(const nlohmann::json& model) {
  using namespace tokenizer_file;
  auto made = std::make_unique<WordPieceModel>();
  const auto& vocabulary = member(model, "vocab");
  if (!vocabulary.is_object()) return malformed_tokenizer("its model has no vocab");
  size_t bytes = 0;
  for (const auto& [text, id] : vocabulary.items()) {
    FOREBAY_ASSIGN(const int32_t value, id_of(id));
    if (bytes += text.size(); bytes > ByteTrie::kMostBytes)
      return unsupported_tokenizer("has a vocab of more than 64 MiB");
    made->pieces_.add(text, value);
  }
  const auto& unknown = member(model, "unk_token");
  const std::string name = unknown.is_string() ? text_of(unknown) : "[UNK]";
  made->unknown_id_ = made->pieces_.find(name);
  if (made->unknown_id_ == ByteTrie::kNone)
    return malformed_tokenizer(fmt::format("its vocab lacks the unk_token '{}'", name));
  const auto& prefix = member(model, "continuing_subword_prefix");
  made->continuations_ = made->pieces_.walk(prefix.is_string() ? text_of(prefix) : "##");
  const auto& most = member(model, "max_input_chars_per_word");
  if (!most.is_null()) {
    FOREBAY_ASSIGN(const int32_t chars, id_of(most));
    made->max_chars_ = static_cast<size_t>(chars);
  }
  return std::unique_ptr<PieceModel>(std::move(made));
}

void WordPieceModel::encode(std::string_view word, std::vector<int32_t>& ids) const {
  const auto chars = std::ranges::count_if(word, [](char c) { return (static_cast<uint8_t>(c) & 0xc0) != 0x80; });
  const size_t begin = ids.size();
  bool known = static_cast<size_t>(chars) <= max_chars_;
  for (size_t at = 0; known && at < word.size();) {
    uint32_t node = at == 0 ? ByteTrie::kRoot : continuations_;
    size_t end = at;
    int32_t id = ByteTrie::kNone;
    for (size_t i = at; node != ByteTrie::kNoNode && i < word.size(); ++i) {
      node = pieces_.next(node, word[i]);
      // The longest piece is wanted, so this one is only the best so far.
      if (node == ByteTrie::kNoNode || pieces_.value(node) == ByteTrie::kNone) continue;
      id = pieces_.value(node);
      end = i + 1;
    }
    known = id != ByteTrie::kNone;
    if (known) ids.push_back(id);
    at = end;
  }
  if (known) return;
  ids.resize(begin);
  ids.push_back(unknown_id_);
}

}  // namespace forebay
