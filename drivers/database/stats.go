package database

const tableStatsSQL = ``
const lockStatsSQL = ``
