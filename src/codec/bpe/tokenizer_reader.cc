#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "codec/bpe/tokenizer.h"

namespace forebay {

namespace {

using nlohmann::json;

Status other_kind(const std::string& part) {
  return unsupported(
      fmt::format("the tokenizer {}; of tokenizers, those of the byte-level BPE kind are built in: call others in "
                  ".map, with the package tokenizers",
                  part));
}

Status no_tokenizer(const std::string& what) {
  return corrupt(fmt::format("{}; is it a tokenizer.json that `tokenizers` saved?", what));
}

const json& member(const json& of, const char* name) {
  static const json none;
  const auto found = of.is_object() ? of.find(name) : of.end();
  return of.is_object() && found != of.end() ? *found : none;
}

std::string type_of(const json& part) {
  const json& type = member(part, "type");
  return type.is_string() ? type.get<std::string>() : "";
}

bool says(const json& part, const char* name, bool otherwise) {
  const json& value = member(part, name);
  return value.is_boolean() ? value.get<bool>() : otherwise;
}

std::string utf8_of(uint32_t code) {  // below U+0800
  if (code < 0x80) return std::string(1, static_cast<char>(code));
  return {static_cast<char>(0xc0 | code >> 6), static_cast<char>(0x80 | (code & 0x3f))};
}

/// The characters that stand for bytes: printable ones for themselves, the others by their place behind U+00FF.
std::array<std::string, 256> byte_names() {
  std::array<std::string, 256> names;
  uint32_t others = 0x100;
  for (uint32_t byte = 0; byte < 256; ++byte) {
    const bool printable = (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
    names[byte] = utf8_of(printable ? byte : others++);
  }
  return names;
}

}  // namespace

/// Fills a tokenizer from a file, part by part.
class BpeTokenizerReader {
 public:
  explicit BpeTokenizerReader(const json& file) : file_(file) {}

  Result<std::shared_ptr<const BpeTokenizer>> read() {
    if (!file_.is_object()) return no_tokenizer("it is no JSON object");
    for (const char* part : {"truncation", "padding", "normalizer"}) {
      if (!member(file_, part).is_null()) return other_kind(fmt::format("has a {}", part));
    }
    FOREBAY_RETURN_IF_ERROR(read_vocabulary());
    FOREBAY_RETURN_IF_ERROR(read_merges());
    FOREBAY_RETURN_IF_ERROR(read_words(member(file_, "pre_tokenizer")));
    FOREBAY_RETURN_IF_ERROR(read_added());
    FOREBAY_RETURN_IF_ERROR(read_around(member(file_, "post_processor")));
    return std::shared_ptr<const BpeTokenizer>(std::move(made_));
  }

 private:
  static Result<int32_t> id_of(const json& value) {
    if (!value.is_number_integer() || value < 0 || value > INT32_MAX)
      return no_tokenizer("an id is no number of 31 bits");
    return value.get<int32_t>();
  }

  Status read_vocabulary() {
    const json& model = member(file_, "model");
    const json& vocabulary = member(model, "vocab");
    if (const std::string type = type_of(model); type != "BPE" && !(type.empty() && vocabulary.is_object()))
      return type.empty() ? no_tokenizer("it has no model") : other_kind(fmt::format("is a {} model", type));
    if (!vocabulary.is_object()) return no_tokenizer("its model has no vocab");
    for (const char* part : {"continuing_subword_prefix", "end_of_word_suffix"}) {
      if (!member(model, part).is_null() && member(model, part) != "") return other_kind(fmt::format("has a {}", part));
    }
    if (!member(model, "dropout").is_null() && member(model, "dropout") != 0.0) return other_kind("has a dropout");
    for (const auto& [text, id] : vocabulary.items()) {
      FOREBAY_ASSIGN(ids_[text], id_of(id));
    }
    return read_bytes(says(model, "ignore_merges", false));
  }

  Status read_bytes(bool ignores_merges) {
    const std::array<std::string, 256> names = byte_names();
    std::unordered_map<std::string, char> byte_of;
    for (size_t byte = 0; byte < names.size(); ++byte) {
      byte_of[names[byte]] = static_cast<char>(byte);
      const auto found = ids_.find(names[byte]);
      if (found == ids_.end()) return other_kind(fmt::format("has no token for the byte {}", byte));
      made_->of_byte_[byte] = found->second;
    }
    made_->ignores_merges_ = ignores_merges;
    for (const auto& [text, id] : ids_) {
      if (ignores_merges) add_whole_word(text, id, byte_of);
    }
    return {};
  }

  void add_whole_word(const std::string& text, int32_t id, const std::unordered_map<std::string, char>& byte_of) {
    std::string bytes;
    for (size_t at = 0; at < text.size();) {
      const size_t length = static_cast<uint8_t>(text[at]) < 0x80 ? 1 : 2;
      const auto byte = byte_of.find(text.substr(at, length));
      if (byte == byte_of.end()) return;  // no word has such a character
      bytes += byte->second;
      at += length;
    }
    made_->whole_words_.emplace(std::move(bytes), id);
  }

  Status read_merges() {
    const json& merges = member(member(file_, "model"), "merges");
    if (!merges.is_array()) return no_tokenizer("its model has no merges");
    made_->merges_ = MergeTable(merges.size());
    uint32_t rank = 0;
    for (const json& merge : merges) FOREBAY_RETURN_IF_ERROR(add_merge(merge, rank++));
    return {};
  }

  Status add_merge(const json& merge, uint32_t rank) {
    std::string left, right;
    if (merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string()) {
      left = merge[0].get<std::string>();
      right = merge[1].get<std::string>();
    } else if (merge.is_string()) {
      const std::string both = merge.get<std::string>();
      const size_t blank = both.find(' ');
      if (blank == std::string::npos) return no_tokenizer(fmt::format("merge {} is no pair", rank));
      left = both.substr(0, blank);
      right = both.substr(blank + 1);
    } else {
      return no_tokenizer(fmt::format("merge {} is no pair", rank));
    }
    const auto a = ids_.find(left), b = ids_.find(right), made = ids_.find(left + right);
    if (a == ids_.end() || b == ids_.end() || made == ids_.end())
      return no_tokenizer(fmt::format("merge {} is of tokens that the vocab lacks", rank));
    made_->merges_.add(a->second, b->second, {rank, made->second});
    return {};
  }

  Status read_words(const json& words) {
    if (type_of(words) == "ByteLevel") {
      made_->blank_before_ = says(words, "add_prefix_space", true);
      made_->pattern_ = says(words, "use_regex", true) ? WordPattern::kGpt2 : WordPattern::kNone;
      return {};
    }
    const json& parts = member(words, "pretokenizers");
    const bool split = type_of(words) == "Sequence" && parts.is_array() && parts.size() == 2 &&
                       type_of(parts[0]) == "Split" && type_of(parts[1]) == "ByteLevel";
    if (!split) return other_kind(words.is_null() ? "cuts no words" : fmt::format("cuts words by {}", type_of(words)));
    return read_split(parts[0], parts[1]);
  }

  Status read_split(const json& split, const json& bytes) {
    const json& pattern = member(member(split, "pattern"), "Regex");
    if (pattern == std::string(kDigits3Text))
      made_->pattern_ = WordPattern::kDigits3;
    else if (pattern == std::string(kDigits1Text))
      made_->pattern_ = WordPattern::kDigits1;
    else
      return other_kind("cuts words by another pattern");
    if (member(split, "behavior") != "Isolated" || says(split, "invert", false))
      return other_kind("cuts words in another way");
    if (says(bytes, "use_regex", true) || says(bytes, "add_prefix_space", true)) return other_kind("cuts words twice");
    return {};
  }

  Status read_added() {
    const json& added = member(file_, "added_tokens");
    if (added.is_null()) return {};
    if (!added.is_array()) return no_tokenizer("its added_tokens are no list");
    for (const json& one : added) {
      if (!member(one, "content").is_string()) return no_tokenizer("an added token has no content");
      const std::string text = member(one, "content").get<std::string>();
      for (const char* option : {"single_word", "lstrip", "rstrip"}) {
        if (says(one, option, false)) return other_kind(fmt::format("has the added token '{}' with {}", text, option));
      }
      FOREBAY_ASSIGN(const int32_t id, id_of(member(one, "id")));
      if (!text.empty()) add_added(says(one, "normalized", false) ? 1 : 0, text, id);
    }
    return {};
  }

  void add_added(size_t pass, const std::string& text, int32_t id) {
    auto& same_first = made_->added_[pass][static_cast<uint8_t>(text[0])];
    const auto longer = [&](const auto& one) { return one.text.size() >= text.size(); };
    same_first.insert(std::ranges::find_if_not(same_first, longer), {text, id});
    made_->any_added_[pass] = true;
  }

  Status read_around(const json& around) {
    const std::string type = type_of(around);
    if (around.is_null() || type == "ByteLevel") return {};
    if (type == "TemplateProcessing") return read_template(around);
    if (type == "RobertaProcessing" || type == "BertProcessing") {
      FOREBAY_RETURN_IF_ERROR(put(made_->before_, member(around, "cls")));
      return put(made_->behind_, member(around, "sep"));
    }
    if (type != "Sequence") return other_kind(fmt::format("ends with {}", type));
    for (const json& each : member(around, "processors")) FOREBAY_RETURN_IF_ERROR(read_around(each));
    return {};
  }

  static Status put(std::vector<int32_t>& ids, const json& pair) {
    if (!pair.is_array() || pair.size() != 2) return no_tokenizer("its post_processor is none");
    FOREBAY_ASSIGN(const int32_t id, id_of(pair[1]));
    ids.push_back(id);
    return {};
  }

  Status read_template(const json& around) {
    bool behind = false;
    for (const json& piece : member(around, "single")) {
      if (piece.contains("Sequence")) {
        if (behind) return other_kind("gives each text twice");
        behind = true;
        continue;
      }
      const json& name = member(member(piece, "SpecialToken"), "id");
      const json& ids = member(
          member(member(around, "special_tokens"), name.is_string() ? name.get<std::string>().c_str() : ""), "ids");
      if (!ids.is_array()) return no_tokenizer("its post_processor names a token that it does not have");
      for (const json& each : ids) {
        FOREBAY_ASSIGN(const int32_t id, id_of(each));
        (behind ? made_->behind_ : made_->before_).push_back(id);
      }
    }
    return behind ? Status() : other_kind("gives no text");
  }

  const json& file_;
  std::shared_ptr<BpeTokenizer> made_{new BpeTokenizer()};
  std::unordered_map<std::string, int32_t> ids_;
};

Result<std::shared_ptr<const BpeTokenizer>> BpeTokenizer::parse(std::span<const uint8_t> text) {
  const json file = json::parse(text.begin(), text.end(), nullptr, false);
  if (file.is_discarded()) return no_tokenizer("it is no JSON");
  return BpeTokenizerReader(file).read();
}

}  // namespace forebay
