-- SPDX-License-Identifier: GPL-2.0
-- What sqlite does in the benchmark: a table is filled, searched, changed and summed up.
create table items(id integer primary key, name text, place integer);
with recursive counter(i) as (select 1 union all select i + 1 from counter where i < 10000)
	insert into items select i, 'name ' || (i * 7919 % 1000), i * 31 % 97 from counter;
create index by_name on items(name);
select place, count(*), max(name) from items group by place order by 2 desc, 1 limit 5;
select count(*) from items a join items b on a.name = b.name where a.id < b.id;
update items set place = place + 1 where name like 'name 1%';
delete from items where id % 3 = 0;
select sum(place), count(distinct name) from items;
