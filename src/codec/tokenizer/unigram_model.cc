#include "codec/tokenizer/unigram_model.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "codec/tokenizer/file_parts.h"
#include "codec/tokenizer/unicode_class.h"

namespace forebay {

namespace {
constexpr double kUnknownPenalty = 10;  // below the lowest score, as in SentencePiece
}

Result<std::unique_ptr<PieceModel>> UnigramModel::read(const nlohmann::json& model) {
  using namespace tokenizer_file;
  auto made = std::make_unique<UnigramModel>();
  const auto& vocabulary = member(model, "vocab");
  if (!vocabulary.is_array()) return malformed_tokenizer("its model has no vocab");
  double least = std::numeric_limits<double>::infinity();
  size_t bytes = 0;
  for (const auto& entry : vocabulary) {
    if (!entry.is_array() || entry.size() != 2 || !entry[0].is_string() || !entry[1].is_number())
      return malformed_tokenizer("its vocab has an entry that is no text with a score");
    const std::string text = entry[0].get<std::string>();
    if (bytes += text.size(); bytes > ByteTrie::kMostBytes)
      return unsupported_tokenizer("has a vocab of more than 64 MiB");
    if (!text.empty()) made->pieces_.add(text, static_cast<int32_t>(made->scores_.size()));
    made->scores_.push_back(entry[1].get<double>());
    least = std::min(least, made->scores_.back());
  }
  const auto& unknown = member(model, "unk_id");
  if (unknown.is_null()) return unsupported_tokenizer("has no unk_id");
  FOREBAY_ASSIGN(made->unknown_id_, id_of(unknown));
  if (static_cast<size_t>(made->unknown_id_) >= made->scores_.size())
    return malformed_tokenizer("its unk_id is not in its vocab");
  made->unknown_score_ = least - kUnknownPenalty;
  if (bool_member(model, "byte_fallback", false)) {
    for (int byte = 0; byte < 256; ++byte)
      made->byte_ids_.push_back(made->pieces_.find(fmt::format("<0x{:02X}>", byte)));
  }
  return std::unique_ptr<PieceModel>(std::move(made));
}

void UnigramModel::encode(std::string_view word, std::vector<int32_t>& ids) const {
  const std::vector<PathEnd> best = best_paths(word);
  const std::vector<uint32_t> begins = piece_begins(best);
  for (size_t i = begins.size(); i-- > 0;) {
    const size_t end = i == 0 ? word.size() : begins[i - 1];
    append_ids(word.substr(begins[i], end - begins[i]), ids);
  }
}

// Viterbi's algorithm: finds, for each byte of the word, the best way to divide all before it.
std::vector<UnigramModel::PathEnd> UnigramModel::best_paths(std::string_view word) const {
  std::vector<PathEnd> best(word.size() + 1);
  const auto offer = [&](size_t begin, size_t end, double score, int32_t id) {
    // If sums are equal, the first one found wins, as in the package.
    if (best[end].begin == UINT32_MAX || score > best[end].score) best[end] = {score, static_cast<uint32_t>(begin), id};
  };
  for (size_t at = 0; at < word.size();) {
    const size_t next = at + char_at(word, at).length;
    const double score = best[at].score;
    bool single = false;
    uint32_t node = ByteTrie::kRoot;
    for (size_t end = at; end < word.size();) {
      node = pieces_.next(node, word[end++]);
      if (node == ByteTrie::kNoNode) break;
      const int32_t id = pieces_.value(node);
      if (id == ByteTrie::kNone) continue;
      offer(at, end, scores_[static_cast<size_t>(id)] + score, id);
      single |= end == next;
    }
    // Ensures that there is always a way to the end of the word.
    if (!single) offer(at, next, unknown_score_ + score, unknown_id_);
    at = next;
  }
  return best;
}

// Goes back from the end of the word. Adjacent unknown pieces become one.
std::vector<uint32_t> UnigramModel::piece_begins(const std::vector<PathEnd>& best) const {
  std::vector<uint32_t> begins;
  bool was_unknown = false;
  for (size_t end = best.size() - 1; end > 0; end = best[end].begin) {
    const bool is_unknown = best[end].id == unknown_id_;
    if (is_unknown && was_unknown)
      begins.back() = best[end].begin;
    else
      begins.push_back(best[end].begin);
    was_unknown = is_unknown;
  }
  return begins;
}

void UnigramModel::append_ids(std::string_view piece, std::vector<int32_t>& ids) const {
  if (const int32_t id = pieces_.find(piece); id != ByteTrie::kNone) return ids.push_back(id);
  const auto known = [&](char byte) { return byte_ids_[static_cast<uint8_t>(byte)] != ByteTrie::kNone; };
  if (byte_ids_.empty() || !std::ranges::all_of(piece, known)) return ids.push_back(unknown_id_);
  for (const char byte : piece) ids.push_back(byte_ids_[static_cast<uint8_t>(byte)]);
}

}  // namespace forebay
