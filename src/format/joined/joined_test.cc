#include <gtest/gtest.h>

#include <numeric>
#include <set>
#include <utility>

#include "base/columns.h"
#include "forebay/stats/store.h"
#include "format/arrays.h"
#include "format/joined/join_rows.h"
#include "format/joined/joined_samples.h"
#include "format/joined/part_of_source.h"
#include "format/joined/stores_of.h"
#include "format/object_lists.h"
#include "store/store.h"

namespace forebay {
namespace {

std::shared_ptr<const Source> array_of(const std::string& name, std::vector<int64_t> values) {
  auto owner = std::make_shared<std::vector<int64_t>>(std::move(values));
  ArrayView view{
      DType::kInt64, {static_cast<int64_t>(owner->size())}, reinterpret_cast<const uint8_t*>(owner->data()), owner, {}};
  return open_arrays({{name, std::move(view), ""}}).value();
}

std::vector<JoinedPart> two_parts(std::vector<int64_t> a, std::vector<int64_t> b) {
  return {{"a", "a/", array_of("x", std::move(a))}, {"b", "b/", array_of("x", std::move(b))}};
}

Result<std::string> value_text(const JoinedPart& part, int64_t row) {
  Record record;
  FOREBAY_RETURN_IF_ERROR(part.source->as_samples()->load(row, Buffer(), record));
  return std::to_string(*record[0].tensor.data<int64_t>());
}

using RowNumbers = std::vector<int64_t>;

TEST(JoinRows, finds_the_partner_of_each_sample) {
  const auto rows = join_rows(two_parts({5, 7, 5}, {7, 9, 5}), value_text, Unmatched::kError).value();
  EXPECT_EQ(rows.first, (RowNumbers{0, 1, 2}));
  EXPECT_EQ(rows.others, (std::vector<RowNumbers>{{2, 0, 2}}));
}

TEST(JoinRows, names_samples_without_a_partner_or_leaves_them_out) {
  const auto parts = two_parts({1, 2, 3, 4, 5, 6}, {6, 3});
  const Status status = join_rows(parts, value_text, Unmatched::kError).status();
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_NE(status.message().find("4 of 6 samples have no partner in the part 'b': '1', '2', '4' and 1 more"),
            std::string::npos)
      << status.message();
  const auto rows = join_rows(parts, value_text, Unmatched::kDrop).value();
  EXPECT_EQ(rows.first, (RowNumbers{2, 5}));
  EXPECT_EQ(rows.others[0], (RowNumbers{1, 0}));
  EXPECT_EQ(join_rows(two_parts({1}, {2}), value_text, Unmatched::kDrop).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(join_rows(two_parts({}, {2}), value_text, Unmatched::kError).value().first.size(), 0u);
}

TEST(JoinRows, a_partner_is_unique) {
  const Status status = join_rows(two_parts({1}, {2, 1, 2}), value_text, Unmatched::kDrop).status();
  EXPECT_NE(status.message().find("two samples of the part 'b' are '2'"), std::string::npos) << status.message();
}

TEST(JoinRows, joins_the_chosen_samples_of_parts) {
  auto parts = two_parts({5, 7, 5, 9}, {7, 9, 5, 9});
  parts[0].rows = packed_rows({1, 2, 3});
  parts[1].rows = packed_rows({0, 2, 3});
  const auto rows = join_rows(parts, value_text, Unmatched::kError).value();
  EXPECT_EQ(rows.first, (RowNumbers{1, 2, 3}));
  EXPECT_EQ(rows.others, (std::vector<RowNumbers>{{0, 2, 3}})) << "the other 9 was not chosen";
  parts[1].rows = packed_rows({0, 1});
  const Status status = join_rows(parts, value_text, Unmatched::kError).status();
  EXPECT_NE(status.message().find("1 of 3 samples have no partner in the part 'b': '5'"), std::string::npos)
      << status.message();
}

TEST(PartOfSource, is_the_data_set_of_the_part_by_the_ids_of_the_pairs) {
  std::vector<JoinedPart> parts = two_parts({1, 2, 3}, {10, 20, 30});
  parts[1].rows = packed_rows({2, 0, 2});
  const auto joined = std::make_shared<const JoinedSamples>(parts, 3);
  const auto part = part_of_source(joined, "b");
  EXPECT_EQ(part->key(1), parts[1].source->key(0));
  EXPECT_EQ(part->identity(0)->hash, parts[1].source->identity(2)->hash);
  EXPECT_EQ(part->identity(0)->hash, part->identity(2)->hash);
  Record record;
  ASSERT_TRUE(part->as_samples()->load(0, Buffer(), record).ok());
  EXPECT_EQ(*record[0].tensor.data<int64_t>(), 30);
  EXPECT_EQ(part_of_source(joined, ""), joined);
  EXPECT_EQ(part_of_source(parts[0].source, "b"), parts[0].source) << "it has no parts";
  EXPECT_EQ(row_in_part(*joined, "b", 2), 2);
  EXPECT_EQ(row_in_part(*joined, "b", 1), 0);
  EXPECT_EQ(row_in_part(*joined, "", 1), 1);
  EXPECT_EQ(row_in_part(*parts[0].source, "b", 1), 1);
  EXPECT_EQ(joined->object_of("b"), std::nullopt) << "nothing is read";
  EXPECT_EQ(JoinedSamples(parts, 2, joined->version()).version(), joined->version());
  EXPECT_FALSE(JoinedSamples(parts, 2).version() == joined->version());
}

TEST(JoinedSamples, have_the_fields_of_all_parts) {
  std::vector<JoinedPart> parts = two_parts({1, 2, 3}, {10, 20, 30});
  parts[1].rows = packed_rows({2, 0, 2});
  const JoinedSamples joined(parts, 3);
  EXPECT_EQ(joined.schema().names(), "a/x, b/x");
  EXPECT_EQ(joined.key(1), parts[0].source->key(1) + " (b: " + parts[1].source->key(0) + ")");
  EXPECT_EQ(joined.fetch(0).store, nullptr);
  Record record;
  ASSERT_TRUE(joined.load(1, Buffer(), record).ok());
  ASSERT_EQ(record.size(), 2u);
  EXPECT_EQ(*record[0].tensor.data<int64_t>(), 2);
  EXPECT_EQ(*record[1].tensor.data<int64_t>(), 10);
  RowNumbers gathered(3);
  ASSERT_TRUE(joined.gathers(1));
  ASSERT_TRUE(joined.gather(1, RowNumbers{0, 1, 2}, reinterpret_cast<uint8_t*>(gathered.data())).ok());
  EXPECT_EQ(gathered, (RowNumbers{30, 10, 30}));
}

TEST(JoinedSamples, have_the_passes_of_a_part_one_after_the_other) {
  for (const bool chosen : {false, true}) {
    std::vector<JoinedPart> parts = two_parts({1, 2, 3, 4, 5}, {10, 20, 30});
    if (chosen) parts[1].rows = packed_rows({2, 0});
    parts[1].passes = 7;
    EXPECT_EQ(parts[1].own_size(), chosen ? 14 : 21);
    const JoinedSamples joined(parts, 5);
    RowNumbers gathered(5);
    ASSERT_TRUE(joined.gather(1, RowNumbers{0, 1, 2, 3, 4}, reinterpret_cast<uint8_t*>(gathered.data())).ok());
    EXPECT_EQ(gathered, chosen ? (RowNumbers{30, 10, 30, 10, 30}) : (RowNumbers{10, 20, 30, 10, 20}));
    Record record;
    ASSERT_TRUE(joined.load(4, Buffer(), record).ok());
    EXPECT_EQ(*record[1].tensor.data<int64_t>(), gathered[4]);
  }
}

TEST(JoinedSamples, are_identified_by_the_samples_of_all_parts) {
  std::vector<JoinedPart> parts = two_parts({1, 2, 3}, {10, 20, 30});
  const JoinedSamples straight(parts, 3);
  parts[1].rows = packed_rows({0, 2, 1});
  const JoinedSamples crossed(parts, 3);
  EXPECT_NE(straight.version(), crossed.version());
  EXPECT_NE(straight.version(), JoinedSamples(two_parts({1, 2, 3}, {10, 20, 30}), 2).version());
  ASSERT_TRUE(straight.identity(0));
  EXPECT_EQ(straight.identity(0), crossed.identity(0));
  EXPECT_NE(straight.identity(1), crossed.identity(1));
}

/// Is never asked.
class NoStore final : public Store {
 public:
  void read(const ReadRequest&, std::stop_token, ReadDone done) override { done(internal_error("nothing is stored")); }
  void list(const ListRequest&, std::stop_token, ListDone done) override { done(internal_error("nothing is stored")); }
  void stat(const std::string&, std::stop_token, StatDone done) override { done(internal_error("nothing is stored")); }
  std::string display_name(const std::string& key) const override { return key; }
  StoreStats stats() const override { return {}; }
};

/// Five objects of a store.
class Objects final : public SampleSource {
 public:
  explicit Objects(Store* store) : store_(store) {}
  const Schema& schema() const override { return schema_; }
  int64_t size() const override { return 5; }
  Hash128 version() const override { return {}; }
  uint64_t index_bytes() const override { return 0; }
  std::string key(int64_t id) const override { return std::to_string(id); }
  Fetch fetch(int64_t id) const override { return {store_, {key(id), {}, 1, {}}, 1}; }
  Status load(int64_t /*id*/, Buffer /*fetched*/, Record& record) const override {
    record.clear();
    record.emplace_back();
    return {};
  }

 private:
  Store* const store_;
  const Schema schema_ = [] {
    Field bytes;
    bytes.name = "bytes";
    bytes.kind = FieldKind::kBytes;
    bytes.fetched = true;
    return Schema({bytes});
  }();
};

TEST(JoinedSamples, have_the_stores_of_all_parts_also_where_a_list_is_empty) {
  NoStore a, b;
  PackedInts ends(3, 5);
  for (const uint64_t end : {0, 2, 5}) ends.push_back(end);
  auto lists =
      std::make_shared<ObjectLists>(std::make_unique<Objects>(&b), std::move(ends), Column(), std::vector<Column>());
  const JoinedSamples joined({{"cover", "cover/", std::make_shared<Objects>(&a)}, {"pages", "pages/", lists}}, 3);
  EXPECT_EQ(joined.fetch(0).others.size(), 0u) << "the first list is empty";
  EXPECT_EQ(joined.fetch(2).others.size(), 3u);
  EXPECT_EQ(stores_of(joined, 0), (std::vector<Store*>{&a, &b}));
}

TEST(JoinedSamples, number_all_combinations_with_parts_that_have_draws_of_their_own) {
  std::vector<JoinedPart> parts = two_parts({1, 2, 3}, {10, 20});
  parts.insert(parts.begin() + 1, {"n", "n/", array_of("x", {100, 200, 300, 400}), nullptr, /*drawn=*/true});
  parts[2].rows = packed_rows({1, 0, 1});
  parts.push_back({"m", "m/", array_of("x", {7, 8}), nullptr, /*drawn=*/true});
  ASSERT_TRUE(number_draws(parts, 3).ok());
  const JoinedSamples joined(parts, 3);
  EXPECT_EQ(joined.size(), 3);
  EXPECT_EQ(joined.ids(), 3 * 4 * 2);
  std::set<std::pair<uint64_t, uint64_t>> identities;
  for (int64_t id = 0; id < joined.ids(); ++id) {
    Record record;
    ASSERT_TRUE(joined.load(id, Buffer(), record).ok());
    RowNumbers values;
    for (const Value& value : record) values.push_back(*value.tensor.data<int64_t>());
    EXPECT_EQ(values, (RowNumbers{id % 3 + 1, (id / 3 % 4 + 1) * 100, id % 3 == 1 ? 10 : 20, id / 12 + 7}));
    identities.emplace(joined.identity(id)->hash.high, joined.identity(id)->hash.low);
  }
  EXPECT_EQ(identities.size(), 24u);
  RowNumbers gathered(2);
  ASSERT_TRUE(joined.gather(0, RowNumbers{5, 19}, reinterpret_cast<uint8_t*>(gathered.data())).ok());
  EXPECT_EQ(gathered, (RowNumbers{3, 2}));
  EXPECT_EQ(joined.lasting_key(17), parts[0].source->lasting_key(2));
  EXPECT_TRUE(joined.part_of(1).drawn);
  EXPECT_EQ(as_joined(static_cast<const Source&>(joined)), &joined);
}

TEST(JoinedSamples, cannot_draw_from_nothing_or_number_too_many) {
  std::vector<JoinedPart> parts = two_parts({1, 2}, {});
  parts[1].drawn = true;
  EXPECT_NE(number_draws(parts, 2).message().find("the part 'b' has no samples"), std::string::npos);
  parts = two_parts({1, 2}, {1, 2, 3, 4});
  parts[1].drawn = true;
  EXPECT_EQ(number_draws(parts, int64_t{1} << 60).code(), Code::kOk);
  EXPECT_EQ(number_draws(parts, (int64_t{1} << 60) + 1).code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace forebay
