#include "format/table/united_schema.h"

#include <gtest/gtest.h>

#include <fmt/format.h>

#include "format/table/open_table_test_support.h"
#include "format/table/stub_table_test_support.h"

namespace forebay {

using namespace table_test;  // NOLINT: these tests are written in its words

namespace {

using Stubs = std::vector<std::shared_ptr<StubTable>>;

/// Files called a, b, c, …
struct Uniter {
  Stubs stubs;
  std::vector<PartitionColumn> partitions = {};
  std::optional<Names> columns = {};
  Names filter_columns = {};
  NullPolicy::Kind nulls = NullPolicy::Kind::kError;
  bool first_decides = false;
  DataWarnings* warnings = nullptr;

  Result<UnitedSchema> unite() const {
    const std::vector<std::shared_ptr<const TableFile>> files(stubs.begin(), stubs.end());
    Names names;
    for (size_t i = 0; i < files.size(); ++i) names.emplace_back(1, static_cast<char>('a' + i));
    NullPolicy policy;
    policy.kind = nulls;
    return unite_schemas({files, names, partitions, columns, filter_columns, policy, first_decides, warnings});
  }
};

Names names_of(const UnitedSchema& united) {
  Names names;
  for (const TableColumn& column : united.columns) names.push_back(column.field.name);
  return names;
}

PartitionColumn folder_column(std::string name, std::vector<std::optional<std::string>> texts) {
  PartitionColumn column;
  column.name = std::move(name);
  column.texts = std::move(texts);
  return column;
}

Field flag(std::string name) { return stub_field(std::move(name), DType::kBool); }

Field text_of(std::string name) {
  Field field = stub_field(std::move(name), DType::kUint8);
  field.kind = FieldKind::kText;
  return field;
}

}  // namespace

TEST(UnitedSchema, files_of_the_same_order_share_one_layout) {
  const auto united = Uniter{{stub_of({"x", "y"}), stub_of({"y", "x"}), stub_of({"x", "y"})}}.unite().value();
  EXPECT_EQ(names_of(united), (Names{"x", "y"}));
  EXPECT_EQ(united.layout_of, (std::vector<uint32_t>{0, 1, 0}));
  EXPECT_EQ(united.layouts, (std::vector<ColumnLayout>{{0, 1}, {1, 0}}));
}

TEST(UnitedSchema, the_columns_asked_for_come_in_that_order_and_each_once) {
  const Stubs files = {stub_of({"user", "x", "user.age", "username", "user.name"})};
  for (const size_t member : {2, 4}) files[0]->origins[member] = {member, {"who"}, false, false};
  const std::vector<PartitionColumn> day = {folder_column("day", {"1"})};
  const std::vector<std::pair<Names, Names>> cases = {
      {{"user"}, {"user"}},  // an exact name selects only that column
      {{"x", "user.age", "x"}, {"x", "user.age"}},
      {{"who"}, {"user.age", "user.name"}},
      {{"user.name", "who"}, {"user.name", "user.age"}},
      {{"day", "x"}, {"day", "x"}},
  };
  for (const auto& [asked, given] : cases) {
    const auto united = Uniter{files, day, asked}.unite();
    ASSERT_TRUE(united.ok()) << united.status().to_string();
    EXPECT_EQ(names_of(*united), given);
  }
  const auto folders_last = Uniter{files, day}.unite().value();
  EXPECT_EQ(folders_last.columns.back().field.name, "day");
  EXPECT_EQ(folders_last.columns.back().from, TableColumn::From::kFolder);
  EXPECT_EQ(folders_last.layouts[0].back(), kNowhere) << "no file is read for it";
}

TEST(UnitedSchema, a_name_that_could_be_a_struct_or_its_member_is_a_column_and_is_told) {
  const Stubs files = {stub_of({"a", "a.b", "a.c", "x.y"}), stub_of({"a.b"})};
  files[0]->origins[2] = {2, {"a"}, false, false};
  files[0]->unreadable = {{"a.b", "a member of a struct"}, {"z", "of type union"}};
  for (const auto& [asked, given] : std::vector<std::pair<std::optional<Names>, Names>>{
           {{}, {"a", "a.b", "a.c", "x.y"}}, {Names{"a"}, {"a"}}, {Names{"a.b"}, {"a.b"}}, {Names{"a.c"}, {"a.c"}}}) {
    DataWarnings warnings;
    Uniter uniter{files, {}, asked};
    uniter.warnings = &warnings;
    const auto united = uniter.unite();
    ASSERT_TRUE(united.ok()) << united.status().to_string();
    EXPECT_EQ(names_of(*united), given);
    ASSERT_EQ(warnings.list().size(), 1u);
    EXPECT_EQ(warnings.list()[0].kind, "twofold_names");
    EXPECT_EQ(warnings.list()[0].count, 2);
    EXPECT_EQ(warnings.list()[0].first, "a");
  }
  DataWarnings none;
  Uniter plain{{stub_of({"a", "a.b", "x.y"})}};
  plain.warnings = &none;
  ASSERT_TRUE(plain.unite().ok());
  EXPECT_TRUE(none.list().empty()) << "a dot alone makes no struct";
}

TEST(UnitedSchema, a_folder_column_has_a_mask_only_where_nulls_are_masked_and_one_is_null) {
  PartitionColumn number = folder_column("n", {"1", std::nullopt});
  number.is_integer = true;
  const PartitionColumn full = folder_column("t", {"x", "y"});
  Uniter uniter{{stub_of({"x"}), stub_of({"x"})}, {number, full}};
  EXPECT_EQ(names_of(uniter.unite().value()), (Names{"x", "n", "t"}));
  uniter.nulls = NullPolicy::Kind::kMask;
  const auto united = uniter.unite().value();
  ASSERT_EQ(names_of(united), (Names{"x", "n", "n_valid", "t"}));
  EXPECT_EQ(united.columns[1].field.dtype, DType::kInt64);
  EXPECT_EQ(united.columns[2].from, TableColumn::From::kFolderValid);
  EXPECT_EQ(united.columns[2].partition, 0u);
  EXPECT_FALSE(united.columns[2].field.fetched);
  EXPECT_EQ(united.columns[3].field.kind, FieldKind::kText);
}

TEST(UnitedSchema, a_mask_that_some_files_lack_is_no_difference) {
  const Stubs files = {stub_of({"x", "y"}), stub_table({stub_field("x"), flag("x_valid"), stub_field("y")})};
  files[1]->masks = {1};
  const auto united = Uniter{files, {}, {}, {}, NullPolicy::Kind::kMask}.unite().value();
  EXPECT_EQ(names_of(united), (Names{"x", "x_valid", "y"}));
  EXPECT_EQ(united.layouts, (std::vector<ColumnLayout>{{0, kAllValid, 1}, {0, 1, 2}}));
}

TEST(UnitedSchema, a_column_that_is_only_called_like_a_mask_is_none) {
  const auto own = [] { return stub_table({stub_field("x"), stub_field("y"), flag("x_valid")}); };
  const auto unite = [](Stubs files, std::optional<Names> columns = {}) {
    return Uniter{std::move(files), {}, std::move(columns), {}, NullPolicy::Kind::kMask}.unite();
  };
  EXPECT_EQ(names_of(unite({own(), own()}).value()), (Names{"x", "y", "x_valid"}));
  EXPECT_EQ(names_of(unite({own()}, Names{"x"}).value()), (Names{"x"})) << "nobody asked for it";
  EXPECT_EQ(unite({own(), stub_of({"x", "y"})}).value().layouts[1].back(), kNowhere) << "it is null in 'b'";

  const Stubs mixed = {own(), stub_table({stub_field("x"), flag("x_valid"), stub_field("y")})};
  mixed[1]->masks = {1};
  expect_error(unite(mixed).status(), Code::kInvalidArgument,
               {"'a' has a column 'x_valid' of its own, which 'b' has as the mask of 'x'"});
  EXPECT_EQ(names_of(unite(mixed, Names{"y"}).value()), (Names{"y"}));
}

TEST(UnitedSchema, a_column_called_like_the_mask_of_a_folder_is_refused) {
  Uniter uniter{{stub_table({stub_field("x"), flag("n_valid")})}, {folder_column("n", {std::nullopt})}};
  EXPECT_TRUE(uniter.unite().ok());
  uniter.nulls = NullPolicy::Kind::kMask;
  expect_error(uniter.unite().status(), Code::kInvalidArgument, {"'n_valid' is a column of 'a'", "rename"});
}

TEST(UnitedSchema, a_column_that_is_a_folder_too_is_refused_with_the_file) {
  const std::vector<PartitionColumn> day = {folder_column("day", {"1", "2"})};
  expect_error(Uniter{{stub_of({"x"}), stub_of({"x", "day"})}, day}.unite().status(), Code::kInvalidArgument,
               {"'day' is both a column of 'b'", "'day=…'"});
}

TEST(UnitedSchema, another_type_is_told_with_both_files_and_both_types) {
  const Field one = stub_field("x");
  const std::vector<std::pair<Field, std::string>> others = {
      {stub_field("x", DType::kInt32), "int32 ()"},
      {stub_field("x", DType::kInt64, {3}), "int64 (3,)"},
      {stub_field("x", DType::kInt64, {Shape::kUnknown}), "int64 (?,)"},
      {text_of("x"), "text"},
  };
  for (const auto& [other, type] : others) {
    expect_error(Uniter{{stub_table({one}), stub_table({other})}}.unite().status(), Code::kInvalidArgument,
                 {fmt::format("'b' has the column 'x' as {}, where 'a' has it as int64 ()", type)});
    const Uniter unseen{{stub_table({stub_field("y"), one}), stub_table({stub_field("y"), other})}, {}, Names{"y"}};
    EXPECT_TRUE(unseen.unite().ok()) << "nobody looks at it";
  }
}

TEST(UnitedSchema, times_in_other_units_are_not_one_column) {
  const auto seconds = stub_of({"t"}), millis = stub_of({"t"}), spans = stub_of({"t"});
  seconds->times[0] = {86'400, true};
  millis->times[0] = {86'400'000, true};
  spans->times[0] = {86'400, false};
  for (const auto& other : {millis, spans, stub_of({"t"})}) {
    expect_error(Uniter{{seconds, other}}.unite().status(), Code::kInvalidArgument,
                 {"'b' has the column 't' as", "where 'a' has it as datetime64[s] ()"});
  }
  EXPECT_TRUE((Uniter{{seconds, seconds}}.unite().ok()));
}

TEST(UnitedSchema, what_several_files_have_in_common_is_told_once_with_their_number) {
  const Status status =
      Uniter{{stub_of({"x", "y"}), stub_of({"x"}), stub_of({"x", "y"}), stub_of({"x"}), stub_of({"x"})},
             {},
             {},
             {},
             NullPolicy::Kind::kError,
             /*first_decides=*/true}
          .unite()
          .status();
  expect_error(status, Code::kInvalidArgument,
               {"'b' has no column 'y' (int64 ()), which 'a' has (so have 2 more files)"});
  EXPECT_EQ(status.message().find("'d'"), std::string::npos) << status.message();
}

TEST(UnitedSchema, a_column_that_files_lack_is_null_in_them) {
  const Stubs more = {stub_of({"x"}), stub_of({"x", "z"})};
  const auto united = Uniter{more}.unite().value();
  EXPECT_EQ(names_of(united), (Names{"x", "z"}));
  EXPECT_EQ(united.layouts, (std::vector<ColumnLayout>{{0, kNowhere}, {0, 1}}));
  EXPECT_EQ(united.columns[1].fill.kind, NullPolicy::Kind::kError);
  const auto masked = Uniter{more, {}, {}, {}, NullPolicy::Kind::kMask}.unite().value();
  EXPECT_EQ(names_of(masked), (Names{"x", "z", "z_valid"}));
  EXPECT_EQ(masked.layouts, (std::vector<ColumnLayout>{{0, kNowhere, kNowhere}, {0, 1, kAllValid}}));
  expect_error(Uniter{{stub_of({"x"}), stub_of({"z"})}}.unite().status(), Code::kInvalidArgument,
               {"'b' has none of the columns that 'a' has"});
}

TEST(UnitedSchema, where_the_first_file_decides_others_have_its_columns) {
  const auto unite = [](Stubs files, std::optional<Names> columns = {}, Names filter_columns = {}) {
    return Uniter{std::move(files), {}, std::move(columns), std::move(filter_columns), NullPolicy::Kind::kError, true}
        .unite();
  };
  const Stubs more = {stub_of({"x"}), stub_of({"x", "z"})};
  expect_error(unite(more).status(), Code::kInvalidArgument, {"'b' has a column 'z' (int64 ()), which 'a' has not"});
  expect_error(unite({stub_of({"x", "y"}), stub_of({"x", "z"})}).status(), Code::kInvalidArgument,
               {"'b' has no column 'y'", "'b' has a column 'z'"});
  EXPECT_TRUE(unite(more, Names{"x"}).ok()) << "nobody looks at it";
  expect_error(unite(more, Names{"z"}).status(), Code::kInvalidArgument,
               {"'a' has no column 'z' (int64 ()), which 'b' has"});
  expect_error(unite(more, Names{"x"}, {"z"}).status(), Code::kInvalidArgument, {"'a' has no column 'z'"});
}

TEST(UnitedSchema, a_column_of_which_a_file_knows_no_type_is_that_of_the_others) {
  const Stubs files = {stub_table({stub_field("x"), stub_field("t", DType::kFloat64)}),
                       stub_table({stub_field("x"), text_of("t")})};
  files[0]->origins[1] = {1, {}, /*untyped=*/true, false};
  const auto united = Uniter{files}.unite().value();
  EXPECT_EQ(united.columns[1].field.kind, FieldKind::kText);
  EXPECT_EQ(united.layouts, (std::vector<ColumnLayout>{{0, kNowhere}, {0, 1}}));
}

TEST(UnitedSchema, what_a_filter_looks_at_is_compared_and_not_given) {
  const auto ints = stub_of({"x", "y"}), floats = stub_table({stub_field("x"), stub_field("y", DType::kFloat64)});
  EXPECT_EQ(names_of((Uniter{{ints, ints}, {}, Names{"x"}, {"y"}}.unite().value())), Names{"x"});
  expect_error(Uniter{{ints, floats}, {}, Names{"x"}, {"y"}}.unite().status(), Code::kInvalidArgument,
               {"'b' has the column 'y' as float64", "types={'y': 'string'}"});
  expect_error(Uniter{{ints}, {}, Names{"x"}, {"yy"}}.unite().status(), Code::kInvalidArgument,
               {"filter: there is no column 'yy'", "did you mean 'y'"});
  EXPECT_TRUE((Uniter{{ints}, {folder_column("day", {"1"})}, Names{"x"}, {"day"}}.unite().ok())) << "a folder's name";
}

TEST(UnitedSchema, what_cannot_be_read_says_why) {
  const auto file = stub_of({"x"});
  file->unreadable = {{"u", "of type union"}, {"s.member", "a map"}};
  expect_error(Uniter{{file}, {}, Names{"u"}}.unite().status(), Code::kUnsupported,
               {"columns: the column 'u' cannot be read: of type union"});
  expect_error(Uniter{{file}, {}, Names{"s"}}.unite().status(), Code::kUnsupported, {"'s.member'", "a map"});
  EXPECT_EQ(names_of((Uniter{{file}}.unite().value())), Names{"x"}) << "others are given without it";
  const auto nothing = stub_of({});
  nothing->unreadable = {{"u", "of type union"}, {"m", "a map"}};
  expect_error(Uniter{{nothing}}.unite().status(), Code::kUnsupported,
               {"'a' has no column that can be read", "'u': of type union", "'m': a map"});
}

TEST(UnitedSchema, a_value_for_nulls_that_does_not_fit_is_told_for_the_columns_that_are_given) {
  const auto sound = stub_of({"x", "y"}), bad = stub_of({"x", "y"});
  bad->statuses[1] = invalid_argument("null='a' does not fit 'y'");
  EXPECT_EQ((Uniter{{sound, bad}}.unite().status().message()), "null='a' does not fit 'y'");
  EXPECT_TRUE((Uniter{{sound, bad}, {}, Names{"x"}}.unite().ok()));
}

TEST(UnitedSchema, a_long_list_of_names_is_cut_short) {
  Names many;
  for (int i = 0; i < 60; ++i) many.push_back(fmt::format("column_{:02}", i));
  const Status status = Uniter{{stub_of(many)}, {}, Names{"kolumn_59"}}.unite().status();
  expect_error(status, Code::kInvalidArgument, {"did you mean 'column_59'", "column_39, …"});
  EXPECT_EQ(status.message().find("column_40"), std::string::npos);
}

}  // namespace forebay
